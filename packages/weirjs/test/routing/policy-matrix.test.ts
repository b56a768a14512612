// 200 routes in groups, on controllers and inline, with policies at every level: each runs what a reference composes by hand.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../dev/src/chaos/seeded-random.ts'
import { Controller, HttpServer, type Policy, Route, type RouteGroup, routes } from '../../src/index.ts'

const ROUTES = 200
/** Few names, so that they are often the same. */
const NAMES = ['auth', 'limit', 'cache', 'log']

/** What the reference knows about a policy: its name, if it can be replaced, and its level. */
interface Layer {
  readonly name: string | null
  readonly mark: string
}

const marks: string[] = []
let made = 0

/** Policies of one level, no two with the same name, and what the reference knows about them. */
function level(random: SeededRandom, where: string): { use: Policy[]; layers: Layer[] } {
  const names = NAMES.filter(() => random.chance(0.35)).map((name): string | null => name)
  if (random.chance(0.5)) names.splice(random.below(names.length + 1), 0, null)
  const layers = names.map((name) => ({ name, mark: `${name ?? 'own'}@${where}#${++made}` }))
  return { layers, use: layers.map(policyOf) }
}

function policyOf({ name, mark }: Layer): Policy {
  return {
    ...(name === null ? {} : { name }),
    gate: () => void marks.push(`gate ${mark}`),
    middleware(_, next) {
      marks.push(`run ${mark}`)
      return next()
    },
    beforeSend: () => void marks.push(`send ${mark}`),
  }
}

/** Composed step by step: level after level, an inner policy in the place of the outer one with its name. */
function reference(levels: readonly (readonly Layer[])[]): string[] {
  const flat: Layer[] = []
  for (const layers of levels) {
    for (const layer of layers) {
      const outer = layer.name === null ? -1 : flat.findIndex(({ name }) => name === layer.name)
      if (outer === -1) flat.push(layer)
      else flat.splice(outer, 1, layer)
    }
  }
  return ['gate', 'run', 'send'].flatMap((what) => flat.map(({ mark }) => `${what} ${mark}`))
}

interface Expected {
  readonly url: string
  readonly levels: () => readonly (readonly Layer[])[]
}

function mapAll(random: SeededRandom): { server: HttpServer; expected: Expected[] } {
  const server = new HttpServer({ logger: null })
  const ofServer: Layer[] = []
  const homes: { group: RouteGroup<string>; prefix: string; layers: Layer[][] }[] = [{ group: server, prefix: '', layers: [ofServer] }]
  for (let i = 0; i < 15; i++) {
    const outer = random.pick(homes)
    const { use, layers } = level(random, `group${i}`)
    homes.push({ group: outer.group.group(`/g${i}`, { use }), prefix: `${outer.prefix}/g${i}`, layers: [...outer.layers, layers] })
  }
  const expected: Expected[] = []
  const answer = (): string => 'x'
  for (let i = 0; i < ROUTES; i++) {
    const { group, prefix, layers } = random.pick(homes)
    const own = level(random, `route${i}`)
    const ofClass = level(random, `class${i}`)
    const kind = i % 4
    if (kind === 0) group.map('GET', `/r${i}/:id`, { use: own.use }, answer)
    if (kind === 1) group.mapGet(`/r${i}`, answer)
    if (kind === 2) {
      @Route(`/r${i}`, { use: ofClass.use })
      class Decorated extends Controller {
        @Route('GET', '/', { use: own.use })
        show() {
          return 'x'
        }
      }
      group.mapController(Decorated)
    }
    if (kind === 3) {
      class Tabled extends Controller {
        static routes = routes(this, { prefix: `/r${i}`, use: ofClass.use, show: ['GET', '/', { use: own.use }] })

        show() {
          return 'x'
        }
      }
      group.mapControllers([Tabled])
    }
    const ownLayers = kind === 1 ? [] : kind === 0 ? [own.layers] : [ofClass.layers, own.layers]
    expected.push({ url: `${prefix}/r${i}${kind === 0 ? '/7' : ''}`, levels: () => [...layers, ...ownLayers] })
    // Some are added later, to a server or a group that already has routes.
    if (random.chance(0.1)) {
      const late: Layer = { name: null, mark: `late#${++made}` }
      const home = random.pick(homes)
      home.group.use(policyOf(late))
      home.layers.at(-1)!.push(late)
    }
  }
  return { server, expected }
}

for (const seed of [1, 2, 3]) {
  test(`200 routes run the policies of all their levels, and no others (seed ${seed})`, async () => {
    const { server, expected } = mapAll(new SeededRandom(seed))
    assert.equal(server.routes.length, ROUTES)
    for (const [i, { url, levels }] of expected.entries()) {
      marks.length = 0
      const answered = await server.inject(url)
      assert.deepEqual([answered.status, marks], [200, reference(levels())], url)
      const listed = server.routes[i]!.policies.length
      assert.equal(listed * 3, marks.length, `${url} lists ${listed}`)
    }
  })
}

test('what the matrix can distinguish', () => {
  const layers = [
    [
      { name: 'a', mark: '1' },
      { name: null, mark: '2' },
    ],
    [
      { name: 'a', mark: '3' },
      { name: 'b', mark: '4' },
    ],
  ]
  assert.deepEqual(reference(layers).slice(0, 3), ['gate 3', 'gate 2', 'gate 4'])
})
