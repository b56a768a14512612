import { jsonExchange, requestOf } from '../message.mjs'

import { answer, sent } from './w5a-json.mjs'

const body = new URLSearchParams(Object.entries(sent).map(([name, value]) => [name, String(value)])).toString()

export default {
  id: 'w5b',
  title: `POST /people, the same as w5a url-encoded, ${body.length} B`,
  app: 'bodies',
  needs: 'bodyMap',
  exchanges: [jsonExchange(requestOf('POST', '/people', { 'Content-Type': 'application/x-www-form-urlencoded' }, body), answer)],
}
