import { createServer } from './app.ts'

const port = Number(process.env['PORT'] ?? 8080)
const server = createServer({ address: process.env['ADDRESS'] ?? '127.0.0.1', port })
await server.start()
console.log(`http://127.0.0.1:${server.port}/notes, documents at /docs, until Ctrl+C`)
await server.run({ signals: ['SIGTERM', 'SIGINT'] })
