// Servers of @weirjs/mcp as others see them: the official client in both of its lines, and the conformance scenarios of the protocol.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'

import { mcp } from '@weirjs/mcp'
import { events, HttpServer, t as type } from 'weirjs'
import { contract, get, post } from 'weirjs/client'
import { mountFetch } from 'weirjs/node'
import { sse } from 'weirjs/sse'

const FOLDER = resolve('test/mcp')
const MODULES = join(FOLDER, 'node_modules')
const missing = !existsSync(MODULES) && 'not installed: npm ci --prefix test/mcp'
const isOld = Number(process.versions.node.split('.')[0]) < 22 && 'the scenarios need Node 22'

/** With the names of tools that the scenarios call. */
const api = contract({
  test_simple_text: post('/text', { summary: 'Says something', tool: true, answers: { 200: type.string } }),
  test_error_handling: post('/fail', { summary: 'Fails', tool: true, answers: { 400: type.string } }),
  test_tool_with_progress: post('/count', { summary: 'Counts', tool: true, answers: { 200: events(type.object({ done: type.int })) } }),
  add: get('/add', { summary: 'Adds', a: type.int, b: type.int, tool: true, answers: { 200: type.object({ sum: type.int }) } }),
})

async function start(t: TestContext): Promise<string> {
  const server = new HttpServer({ address: '127.0.0.1', port: 0, logger: null })
  server.mapContract(api, {
    test_simple_text: (_, { response }) => response.text('This is a simple text response for testing.'),
    test_error_handling: (_, { response }) => response.status(400).text('This tool intentionally returns an error for testing'),
    test_tool_with_progress: (_, session) =>
      sse(session, async function* () {
        for (const done of [0, 50, 100]) yield { data: { done } }
      }),
    add: ({ a, b }) => ({ sum: a + b }),
  })
  mcp(server)
  await server.start()
  t.after(() => server.stop({ grace: 0 }))
  return `http://127.0.0.1:${server.port}/mcp`
}

/** A server of the SDK, which does not look at Host itself. */
async function startMounted(t: TestContext, options: { readonly hosts?: 'any' }): Promise<string> {
  const sdk = (name: string): Promise<Record<string, new (...given: unknown[]) => Mounted>> =>
    import(join(MODULES, '@modelcontextprotocol/sdk/dist/esm/server', name))
  const { McpServer } = await sdk('mcp.js')
  const { WebStandardStreamableHTTPServerTransport: Transport } = await sdk('webStandardStreamableHttp.js')
  const server = new HttpServer({ address: '127.0.0.1', port: 0, logger: null, ...options })
  mountFetch(server, '/mcp', async (request) => {
    const transport = new Transport!({ sessionIdGenerator: undefined, enableJsonResponse: true }) // one for each request
    await new McpServer!({ name: 'mounted', version: '1.0.0' }).connect(transport)
    return transport.handleRequest(request)
  })
  await server.start()
  t.after(() => server.stop({ grace: 0 }))
  return `http://127.0.0.1:${server.port}/mcp`
}

interface Mounted {
  connect(transport: Mounted): Promise<void>
  handleRequest(request: Request): Promise<Response>
}

/** Runs a program of the folder. @returns what it has printed */
async function outputOf(...args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, args, { cwd: FOLDER, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  const status = await new Promise<number | null>((done, reject) => child.once('error', reject).once('close', done))
  assert.equal(status, 0, output)
  return output
}

test('both lines of the official client list and call tools, with progress', { skip: missing }, async (t) => {
  const outcome = {
    server: 'weir',
    tools: ['test_simple_text', 'test_error_handling', 'test_tool_with_progress', 'add'],
    added: { sum: 3 },
    failed: true,
    counted: 3,
    progress: [1, 2, 3],
  }
  assert.deepEqual(JSON.parse(await outputOf('call.mjs', await start(t))), [outcome, outcome, outcome])
})

const conformance = (url: string, scenario: string): readonly string[] => [
  'node_modules/@modelcontextprotocol/conformance/dist/index.js',
  ...['server', '--url', url, '--scenario', scenario],
]

for (const scenario of [
  'server-initialize',
  'ping',
  'tools-list',
  'tools-call-simple-text',
  'tools-call-error',
  'tools-call-with-progress',
  'dns-rebinding-protection',
])
  test(`the scenario ${scenario} of the conformance suite passes`, { skip: missing || isOld }, async (t) => {
    const output = await outputOf(...conformance(await start(t), scenario))
    assert.match(output, /Passed: (\d)\/\1, 0 failed, 0 warnings/)
  })

test('the scenario dns-rebinding-protection passes for a handler of the SDK mounted with mountFetch, because of hosts', {
  skip: missing || isOld,
}, async (t) => {
  const scenario = 'dns-rebinding-protection'
  assert.match(await outputOf(...conformance(await startMounted(t, {}), scenario)), /Passed: 2\/2, 0 failed, 0 warnings/)
  await assert.rejects(outputOf(...conformance(await startMounted(t, { hosts: 'any' }), scenario)), /Passed: 1\/2, 1 failed/)
})
