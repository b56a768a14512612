import { requestOf } from '../message.mjs'
import { FILES } from '../site.mjs'

const fields = { 'Accept-Encoding': 'br;q=1, gzip;q=0.8' }

export default {
  id: 'w12f',
  name: 'Files of a page',
  title: `HttpArena static: ${FILES.length} files of a page in turn, 3 to 300 KiB, text precompressed where the server supports it`,
  app: 'files',
  exchanges: FILES.map(({ name, type, bytes }) => ({
    request: requestOf('GET', `/${name}`, fields),
    status: 200,
    mediaType: type,
    body: bytes,
  })),
}
