// weir with the answer of w3 and w4 declared (`answers`), which is otherwise the same. Only measured where --servers names it.
import { ofPerson } from '../answers.mjs'
import { Person } from '../models-by-hand.mjs'
import { start as startWeir } from './weir.mjs'

export { version } from './weir.mjs'
export const label = 'weir, declared answer'
export const isExtra = true

export function start(workload) {
  if (workload.id !== 'w3' && workload.id !== 'w4') return { skipped: 'it is weir, except in w3 and w4' }
  return startWeir(workload, { bodies })
}

function bodies(server, { t, text }) {
  const Answer = t.object({
    name: t.string,
    email: t.string,
    street: t.string,
    city: t.string,
    nextAge: t.number,
    score: t.number,
    subscribed: t.bool,
    year: t.int,
  })
  server.mapPost('/people', { answers: { 200: Answer, 400: text() } }, (_args, { request, response }) => {
    const person = new Person()
    if (!request.bodyMap(person)) return response.status(400).text('no person in the body')
    return ofPerson(person)
  })
}
