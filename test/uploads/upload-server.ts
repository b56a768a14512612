// A server with @weirjs/uploads, as one of several machines. Its only argument is JSON:
//
//   { "origin": "http://127.0.0.1:1", "directory": "/tmp/x" }
//   { "origin": "http://127.0.0.1:1", "endpoint": "http://127.0.0.1:2", "bucket": "b" }
//
// Prints its port, then a line for each request with an offset that gets a response, and one for each complete upload.

import { createHash } from 'node:crypto'
import { s3Storage } from '../../packages/s3/src/index.ts'
import { diskStorage, uploads } from '../../packages/uploads/src/index.ts'
import { HttpServer } from '../../packages/weirjs/src/index.ts'
import { cors } from '../../packages/weirjs/src/modules/cors/index.ts'
import { clientOf } from '../../packages/weirjs/test/support/s3.ts'

interface Settings {
  readonly origin: string
  readonly directory?: string
  readonly endpoint?: string
  readonly bucket?: string
}

const { origin, directory, endpoint, bucket } = JSON.parse(process.argv[2]!) as Settings
const storage =
  directory === undefined ? s3Storage(clientOf(endpoint!), { bucket: bucket!, partSize: 5 * 1024 * 1024 }) : diskStorage(directory)

const server = new HttpServer()
server.use(
  cors({
    origins: origin,
    exposedHeaders: ['Location', 'Upload-Offset', 'Upload-Length', 'Upload-Metadata', 'Upload-Expires', 'Tus-Resumable'],
  }),
)
server.use({
  name: 'offsets',
  beforeSend({ request }, response) {
    const offset = request.header('upload-offset')
    if (offset !== null) console.log(JSON.stringify({ offset: Number(offset), status: response.statusCode }))
  },
})
server.use(
  uploads('/files', {
    storage,
    async onComplete(upload) {
      const hash = createHash('sha256')
      for await (const chunk of upload.stream()) hash.update(chunk)
      console.log(JSON.stringify({ size: upload.size, name: upload.fileName, type: upload.type, hash: hash.digest('hex') }))
    },
  }),
)
await server.start()
console.log(server.port)
