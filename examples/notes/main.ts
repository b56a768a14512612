import { createServer } from './app.ts'

const server = createServer(3000)
await server.start()
console.log(`Try http://127.0.0.1:${server.port}/docs`)
await server.run({ signals: ['SIGINT', 'SIGTERM'] })
