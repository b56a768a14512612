// A JSON body that is parsed, checked and mapped onto a model: the answer can only be right if number, boolean and date were converted.
import { jsonExchange, requestOf } from '../message.mjs'

const sent = {
  id: '6f1c2b0e-6a0c-4a3e-9c39-2f7c1f0d9b11',
  name: 'Ada Lovelace',
  email: 'ada.lovelace@bench.example',
  creation: '2024-02-29T12:30:00Z',
  enabled: true,
  logins: 1843,
  tags: ['analyst', 'engine'],
}

export default {
  id: 'w3',
  title: `POST /users, ${JSON.stringify(sent).length} B of JSON mapped onto a model`,
  app: 'basic',
  needs: 'bodyMap',
  exchanges: [
    jsonExchange(requestOf('POST', '/users', { 'Content-Type': 'application/json' }, JSON.stringify(sent)), {
      id: sent.id,
      name: sent.name,
      year: 2024,
      enabled: true,
      nextLogin: 1844,
      tags: 2,
    }),
  ],
}
