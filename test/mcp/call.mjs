// Calls the tools of a server with both lines of the official client, and prints what came back as JSON: node call.mjs URL
import * as two from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const one = { Client, StreamableHTTPClientTransport }
const outcomes = []
// The last one asks for the version without a handshake first, and falls back.
for (const [sdk, options] of [[one], [two], [two, { versionNegotiation: { mode: 'auto' } }]]) {
  const client = new sdk.Client({ name: 'check', version: '1.0.0' }, options)
  await client.connect(new sdk.StreamableHTTPClientTransport(new URL(process.argv[2])))
  const progress = []
  const onprogress = (step) => progress.push(step)
  const counting = { name: 'test_tool_with_progress', arguments: {} }
  outcomes.push({
    server: client.getServerVersion().name,
    tools: (await client.listTools()).tools.map(({ name }) => name),
    added: (await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } })).structuredContent,
    failed: (await client.callTool({ name: 'test_error_handling', arguments: {} })).isError,
    counted: (await (sdk === one ? client.callTool(counting, undefined, { onprogress }) : client.callTool(counting, { onprogress })))
      .content.length,
    progress: progress.map(({ progress }) => progress),
  })
  await client.close()
}
console.log(JSON.stringify(outcomes))
