// How long weir/openapi takes to make a document of 200 routes, the first one of a process and later ones.
//
//   node bench/openapi.mjs [--routes 200] [--rounds 20]       needs npm run build
import { parseArgs } from 'node:util'

import { HttpServer, header, Problem, t } from '../dist/index.js'
import { openapi } from '../dist/modules/openapi/index.js'
import { describeMachine } from './machine.mjs'
import { median } from './statistics.mjs'

const { values } = parseArgs({ options: { routes: { type: 'string', default: '200' }, rounds: { type: 'string', default: '20' } } })

const server = new HttpServer({ logger: null })
server.useModule(openapi({ info: { title: 'Bench', version: '1' } }))

function mapRoute(i) {
  const Thing = t.named(`Thing${i}`, t.object({ id: t.int, name: t.string.max(50), tags: t.array(t.string), at: t.date.nullable() }))
  const declaration = {
    id: t.int.min(1),
    page: t.int.default(1),
    tenant: header('x-tenant', t.uuid),
    body: Thing,
    answers: { 200: Thing, 404: Problem },
    operationId: `save${i}`,
    tags: [`tag${i % 10}`],
  }
  server.mapPut(`/things${i}/:id`, declaration, ({ body }) => body)
}

async function timed() {
  const start = performance.now()
  const { status, text } = await server.inject('/openapi.json')
  if (status !== 200) throw new Error(text())
  return performance.now() - start
}

for (let i = 0; i < Number(values.routes); i++) mapRoute(i)
const first = await timed()
const later = []
for (let round = 0; round < Number(values.rounds); round++) {
  mapRoute(Number(values.routes) + round) // the document is made again
  later.push(await timed())
}
console.log(describeMachine())
console.log(
  `${values.routes} routes: ${first.toFixed(1)} ms for the first document, ${median(later).toFixed(1)} ms (median) for later ones`,
)
