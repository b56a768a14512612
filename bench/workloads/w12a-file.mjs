import { BYTES, FILE_NAME } from '../large.mjs'
import { requestOf } from '../message.mjs'

export default {
  id: 'w12a',
  title: `GET /${FILE_NAME}, ${BYTES.length} B, from a folder of files`,
  app: 'files',
  exchanges: [{ request: requestOf('GET', `/${FILE_NAME}`), status: 200, mediaType: 'image/jpeg', body: BYTES }],
}
