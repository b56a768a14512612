import { createServer } from './app.ts'

const { PORT = '8080', ADDRESS = '127.0.0.1', FOLDER = 'data', PROXY, HOST } = process.env
const server = createServer({
  address: ADDRESS,
  port: Number(PORT),
  folder: FOLDER,
  ...(PROXY && { proxies: { trust: [PROXY], ...(HOST && { hosts: [HOST] }) } }),
})
await server.start()
console.log(`http://localhost:${server.port}/, until Ctrl+C`)
await server.run({ signals: ['SIGTERM', 'SIGINT'] })
