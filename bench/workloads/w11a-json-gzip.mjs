import { jsonExchange, requestOf } from '../message.mjs'
import { ROWS } from '../site.mjs'

const exchange = jsonExchange(requestOf('GET', '/rows', { 'Accept-Encoding': 'gzip' }), ROWS)

export default {
  id: 'w11a',
  title: `GET /rows, ${Buffer.byteLength(exchange.body)} B of JSON, compressed as gzip for every request`,
  app: 'compressed',
  exchanges: [{ ...exchange, coding: 'gzip' }],
}
