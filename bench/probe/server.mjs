// weir's entry for Http11Probe: GET and HEAD answer OK, POST returns the body, `/echo` the header fields, `/cookie` the cookies.
// OPTIONS is a route because the board requires a 200; without it, weir would respond with 204 and Allow.
import { HttpServer } from 'weirjs'

const server = new HttpServer('0.0.0.0', Number(process.argv[2] ?? 8080))

server.mapGet('/', () => 'OK')
server.mapPost('/', { body: 'buffer' }, (_, { request, response }) => response.body(request.bodyBytes, 'text/plain'))
server.map('OPTIONS', '/', (_, { response }) => response.header('Allow', 'GET, HEAD, POST, OPTIONS').text(''))

server.map(null, '/echo', (_, { request }) => Array.from(request.headers, ([name, value]) => `${name}: ${value}\n`).join(''))

server.map(null, '/cookie', (_, { request }) =>
  Array.from({ length: request.cookies }, (_, i) => request.cookie(i))
    .map(([name, value]) => `${name}=${value}\n`)
    .join(''),
)

await server.run({ signals: ['SIGTERM', 'SIGINT'] })
