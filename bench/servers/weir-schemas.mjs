// weir with the body of w3 and w4 declared by a schema, in place of bodyMap. Only measured where --servers names it.
import { ofPerson } from '../answers.mjs'
import { start as startWeir } from './weir.mjs'

export { version } from './weir.mjs'
export const label = 'weir, body by schema'
export const isExtra = true

export function start(workload) {
  if (workload.id !== 'w3' && workload.id !== 'w4') return { skipped: 'it is weir, except in w3 and w4' }
  return startWeir(workload, { bodies })
}

function bodies(server, { t }) {
  const Person = t.object({
    name: t.string,
    email: t.string,
    street: t.string,
    city: t.string,
    age: t.number,
    score: t.number,
    subscribed: t.bool,
    birthday: t.dateTime,
  })
  server.mapPost('/people', { body: Person }, ({ body }) => ofPerson(body))
}
