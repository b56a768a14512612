import { jsonExchange, requestOf } from '../message.mjs'
import { ROWS } from '../site.mjs'

const exchange = jsonExchange(requestOf('GET', '/rows', { 'Accept-Encoding': 'br' }), ROWS)

export default {
  id: 'w11b',
  title: `GET /rows, ${Buffer.byteLength(exchange.body)} B of JSON, compressed as br for every request`,
  app: 'compressed',
  exchanges: [{ ...exchange, coding: 'br' }],
}
