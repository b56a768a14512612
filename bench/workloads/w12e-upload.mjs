import { UPLOAD_SIZES } from '../arena/items.mjs'
import { textExchange } from '../message.mjs'

/** The body consists of zeros, which is cheapest for the generator. Servers must not read them, and there are as many bytes to move. */
function exchange(size) {
  const head = `POST /upload HTTP/1.1\r\nHost: bench.localhost\r\nContent-Type: application/octet-stream\r\nContent-Length: ${size}\r\n\r\n`
  const request = Buffer.alloc(head.length + size)
  request.write(head, 'latin1')
  return textExchange(request, String(size))
}

export default {
  id: 'w12e',
  name: 'Large uploads',
  title: 'HttpArena upload: bodies of 500 KiB, 2, 10 and 20 MiB in turn, streamed and counted',
  app: 'upload',
  connections: 8,
  exchanges: UPLOAD_SIZES.map(exchange),
}
