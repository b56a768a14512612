// A program may throw anything, also an object that throws when it is looked at. It is one 500, and nothing else ends.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { auth } from '../../src/modules/auth/index.ts'
import { cache } from '../../src/modules/cache/index.ts'
import { idempotency, memoryIdempotency } from '../../src/modules/idempotency/index.ts'
import { mountFetch, mountNode } from '../../src/node/index.ts'
import { testScheme } from '../modules/auth/support.ts'
import { encodeForm, FORM_FIELD } from '../support/forms.ts'
import { within } from '../support/serving.ts'

const refuse = (): never => {
  throw new Error('this object may not be looked at')
}
/** Every operation on it throws. */
const secretive = (): object =>
  new Proxy(
    {},
    {
      getPrototypeOf: refuse,
      get: refuse,
      has: refuse,
      ownKeys: refuse,
      getOwnPropertyDescriptor: refuse,
      set: refuse,
      isExtensible: refuse,
    },
  )
/** Only its prototype is hidden. */
const withoutPrototype = (): object => new Proxy({ message: 'x', code: 'y' }, { getPrototypeOf: refuse })

const FORM = encodeForm([
  { name: 'title', content: 'x' },
  { name: 'file', content: Buffer.alloc(1000), fileName: 'a.bin', contentType: 'application/octet-stream' },
])
const [, FORM_TYPE] = /: (.*)\r\n$/.exec(FORM_FIELD)!

const PLACES: Readonly<Record<string, (server: HttpServer, thrown: () => never) => void>> = {
  handler: (server, thrown) => server.mapPost('/', thrown),
  'async handler': (server, thrown) => server.mapPost('/', async () => thrown()),
  middleware(server, thrown) {
    server.use({ name: 'm', middleware: thrown })
    server.mapPost('/', () => 'x')
  },
  gate(server, thrown) {
    server.use({ name: 'g', gate: thrown })
    server.mapPost('/', () => 'x')
  },
  'late gate'(server, thrown) {
    server.use({ name: 'g', gate: async () => thrown() })
    server.mapPost('/', () => 'x')
  },
  scheme(server, thrown) {
    server.use(auth({ schemes: [{ ...testScheme(), authenticate: thrown }] }))
    server.mapPost('/', () => 'x')
  },
  stream: (server, thrown) =>
    server.mapPost('/', (_, { response }) =>
      response.stream(
        (async function* () {
          yield* [] as string[]
          thrown()
        })(),
        'text/plain',
      ),
    ),
  onField: (server, thrown) =>
    server.mapPost('/', { body: 'stream' }, async (_, { request }) => request.bodyMultipartStream({ onField: thrown })),
  onFile: (server, thrown) =>
    server.mapPost('/', { body: 'stream' }, async (_, { request }) => request.bodyMultipartStream({ onFile: thrown })),
  'async onFile': (server, thrown) =>
    server.mapPost('/', { body: 'stream' }, async (_, { request }) => request.bodyMultipartStream({ onFile: async () => thrown() })),
  cache(server, thrown) {
    server.use(cache({ maxAge: '1m', onError: () => {} }))
    server.mapGet('/', thrown)
  },
  idempotency(server, thrown) {
    server.use(idempotency({ store: memoryIdempotency(), scope: () => 'x' } as never))
    server.mapPost('/', thrown)
  },
  mountNode: (server, thrown) => void mountNode(server, '/', thrown),
  'async mountNode': (server, thrown) => void mountNode(server, '/', async () => thrown()),
  mountFetch: (server, thrown) => void mountFetch(server, '/', thrown),
  onError: (server, thrown) => server.mapPost('/', thrown),
  'async mountFetch': (server, thrown) => void mountFetch(server, '/', async () => thrown()),
}

for (const [what, make] of Object.entries({ 'no operation': secretive, 'no prototype': withoutPrototype }))
  for (const [place, map] of Object.entries(PLACES))
    test(`an object that allows ${what}, thrown in ${place}`, async (t) => {
      const lost: unknown[] = []
      const note = (error: unknown): void => void lost.push(typeof error)
      process.on('unhandledRejection', note)
      t.after(() => process.off('unhandledRejection', note))
      const onError =
        place === 'onError'
          ? () => {
              throw make()
            }
          : undefined
      const server = new HttpServer({ ...(onError && { onError }), logger: { debug() {}, info() {}, warn() {}, error() {} } as never })
      map(server, () => {
        throw make()
      })
      const headers = { 'Content-Type': FORM_TYPE!, 'Idempotency-Key': '"0123456789012345"' }
      const asked = server.inject(place === 'cache' ? { url: '/' } : { method: 'POST', url: '/', headers, body: FORM })
      assert.equal((await within(asked, 'the response')).status, 500)
      await new Promise(setImmediate)
      assert.deepEqual(lost, [])
    })
