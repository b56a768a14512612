import { jsonExchange, requestOf } from '../message.mjs'

export default {
  id: 'w1',
  name: 'JSON hello',
  title: 'GET /hello, JSON, no field except Host',
  app: 'basic',
  exchanges: [jsonExchange(requestOf('GET', '/hello'), { message: 'Hello, World!' })],
}
