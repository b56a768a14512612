// Two hundred routes, a mix of exact paths and templates. All GET routes are requested, in shuffled order.
import { jsonExchange, requestOf, seededNumbers } from '../message.mjs'
import { ROUTES, sampleOf } from '../route-table.mjs'

const below = seededNumbers(0x707e5)
const order = []
for (let i = 0; i < 4; i++) {
  const asked = ROUTES.filter(({ method }) => method === 'GET')
  while (asked.length > 0) order.push(asked.splice(below(asked.length), 1)[0])
}

export default {
  id: 'w7',
  name: '200 routes',
  title: `${ROUTES.length} routes, a mix of exact paths and templates`,
  app: 'routes',
  exchanges: order.map((route) => {
    const { target, answer } = sampleOf(route, [String(1 + below(99_999)), String(1 + below(99))])
    return jsonExchange(requestOf('GET', target), answer)
  }),
}
