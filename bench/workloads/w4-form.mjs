import { jsonExchange, requestOf } from '../message.mjs'

import { answer, sent } from './w3-json.mjs'

const body = new URLSearchParams(Object.entries(sent).map(([name, value]) => [name, String(value)])).toString()

export default {
  id: 'w4',
  name: 'Form body',
  title: `POST /people, the values of the JSON body as a url-encoded form, ${body.length} B`,
  app: 'bodies',
  needs: 'bodyMap',
  exchanges: [jsonExchange(requestOf('POST', '/people', { 'Content-Type': 'application/x-www-form-urlencoded' }, body), answer)],
}
