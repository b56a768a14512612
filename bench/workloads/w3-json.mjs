// A model from JSON; w4 sends the same as a form. The response can only be right if numbers, boolean and date were converted.
import { jsonExchange, requestOf } from '../message.mjs'

export const sent = {
  name: 'Ada Lovelace',
  email: 'ada.lovelace@bench.example',
  street: '12 St. James Square',
  city: 'London & Marylebone',
  age: 36,
  score: 1843.5,
  subscribed: true,
  birthday: '1815-12-10T08:00:00Z',
}

export const answer = {
  name: sent.name,
  email: sent.email,
  street: sent.street,
  city: sent.city,
  nextAge: 37,
  score: 1844,
  subscribed: true,
  year: 1815,
}

const body = JSON.stringify(sent)

export default {
  id: 'w3',
  name: 'JSON body',
  title: `POST /people, ${Buffer.byteLength(body)} B of JSON mapped onto a model`,
  app: 'bodies',
  needs: 'bodyMap',
  exchanges: [jsonExchange(requestOf('POST', '/people', { 'Content-Type': 'application/json' }, body), answer)],
}
