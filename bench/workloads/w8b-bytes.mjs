import { BYTES } from '../large.mjs'
import { requestOf } from '../message.mjs'

export default {
  id: 'w8b',
  name: '64 KiB from memory',
  title: `GET /bytes, ${BYTES.length} B from memory`,
  app: 'large',
  isQuick: false,
  exchanges: [{ request: requestOf('GET', '/bytes'), status: 200, mediaType: 'application/octet-stream', body: BYTES }],
}
