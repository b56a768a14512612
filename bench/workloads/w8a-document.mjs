import { DOCUMENT } from '../large.mjs'
import { jsonExchange, requestOf } from '../message.mjs'

const exchange = jsonExchange(requestOf('GET', '/document'), DOCUMENT)

export default {
  id: 'w8a',
  name: '66 KB of JSON',
  title: `GET /document, ${Buffer.byteLength(exchange.body)} B of JSON, serialized for every request`,
  app: 'large',
  exchanges: [exchange],
}
