import { UPLOAD_SIZES } from '../arena.mjs'
import { textExchange } from '../message.mjs'

/** The body is nothing but zeros, which cost the generator least: no server may look at them, and the bytes to be moved are as many. */
function exchange(size) {
  const head = `POST /upload HTTP/1.1\r\nHost: bench.example\r\nContent-Type: application/octet-stream\r\nContent-Length: ${size}\r\n\r\n`
  const request = Buffer.alloc(head.length + size)
  request.write(head, 'latin1')
  return textExchange(request, String(size))
}

export default {
  id: 'w12e',
  title: 'HttpArena upload: bodies of 500 KiB, 2, 10 and 20 MiB in turn, streamed and counted',
  app: 'upload',
  connections: 8,
  exchanges: UPLOAD_SIZES.map(exchange),
}
