// What the types of answers promise. Only tsc runs this file.

import { bytes, Controller, HttpResponse, HttpServer, json, Problem, Route, routes, t, text } from '../../src/index.ts'
import type { InlineHandler } from '../../src/modules/contract/index.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Expect<T extends true> = T

const server = new HttpServer()
const User = t.object({ id: t.int, name: t.string, role: t.enum('admin', 'user'), at: t.dateTime, tags: t.array(t.string) })
const answers = { 200: User, 404: Problem }
/** As it comes from a database. */
interface Row {
  readonly id: number
  readonly name: string
  readonly role: 'admin' | 'user'
  readonly at: Date
  readonly tags: readonly string[]
  readonly passwordHash: string
}
declare const row: Row
declare const chance: boolean

// Values that fit the successful answer, responses that fit the answer of their status, and promises of both.
server.mapGet('/', { answers }, () => row)
server.mapGet('/', { answers }, async () => row)
server.mapGet('/:id', { id: t.int, answers }, ({ id }, { response }) => (id === 1 ? row : response.notFound('no such user')))
server.mapGet('/', { answers }, () => ({ ...row, at: '2024-01-31T09:30:00Z' }))
server.mapGet('/', { answers }, (_, { response }) => response.header('X-A', '1').json(row))
server.mapGet('/', { answers }, (_, { response }) => response.json({ id: 1, name: 'Ada', role: 'user', at: new Date(), tags: [] }))
server.mapGet('/', { answers }, (_, { response }) => response.status(404).json({ title: 'Not Found', status: 404, detail: 'no' }))
server.mapGet('/', { answers }, async (_, { response }) => {
  if (response.precondition({ etag: 'v1' })) return response
  if (chance) return response.notFound()
  if (chance) return new HttpResponse().json(row)
  return row
})
// Of a response that was built elsewhere, nothing is known.
declare function finish(response: HttpResponse): HttpResponse
server.mapGet('/', { answers }, (_, { response }) => finish(response.status(404)))
server.mapGet('/', { answers }, (_, { response }) => {
  response.status(404)
  return response
})
declare const status: number
server.mapGet('/', { answers }, (_, { response }) => response.status(status).json({ title: '', status }))
declare const either: 404 | 409
server.mapGet('/', { answers: { ...answers, 409: Problem } }, (_, { response }) => response.status(either).json({ title: '', status }))

// What does not fit.
// @ts-expect-error a text where a number is declared
server.mapGet('/', { answers }, () => ({ ...row, id: '1' }))
// @ts-expect-error the same later
server.mapGet('/', { answers }, async () => ({ ...row, id: '1' }))
// @ts-expect-error properties are missing
server.mapGet('/', { answers }, () => ({ id: 1 }))
// @ts-expect-error any text, where one of two is declared
server.mapGet('/', { answers }, () => ({ ...row, role: String(row.role) }))
// @ts-expect-error a text
server.mapGet('/', { answers }, () => 'text')
// @ts-expect-error nothing
server.mapGet('/', { answers }, () => {})
// @ts-expect-error one of two
server.mapGet('/', { answers }, () => {
  if (chance) return row
  return { ...row, name: 5 }
})
// @ts-expect-error not a problem document
server.mapGet('/', { answers }, (_, { response }) => response.status(404).json({ error: 'no' }))
// @ts-expect-error a user is not the answer with 404
server.mapGet('/', { answers }, (_, { response }) => response.status(404).json(row))
// @ts-expect-error no declared answer
server.mapGet('/', { answers }, (_, { response }) => response.json({ error: 'no' }))
// @ts-expect-error no such status
server.mapGet('/', { answers }, (_, { response }) => response.status(409).json({ title: '', status: 409 }))
// @ts-expect-error no such status
server.mapGet('/', { answers }, (_, { response }) => response.forbidden())
// @ts-expect-error no such status
server.mapGet('/', { answers }, (_, { response }) => response.noContent())
// @ts-expect-error no such status
server.mapGet('/', { answers }, (_, { response }) => response.redirect('/'))
// @ts-expect-error text is not JSON
server.mapGet('/', { answers }, (_, { response }) => response.status(404).text('no'))

// No body, text, bytes, streams, JSON of one name.
server.mapDelete('/', { answers: { 204: null } }, () => {})
server.mapDelete('/', { answers: { 204: null } }, async (_, { response }) => response.noContent())
server.mapPut('/', { answers: { 201: null, 204: null } }, (_, { response }) => (chance ? response.status(201) : undefined))
server.mapGet('/', { answers: { 302: null } }, (_, { response }) => response.redirect('/'))
server.mapGet('/', { answers: { 303: null } }, (_, { response }) => response.redirect('/', 303))
server.mapGet('/', { answers: { 200: text('text/csv'), 404: Problem } }, () => 'a,b')
server.mapGet('/', { answers: { 200: text() } }, (_, { response }) => response.text('text'))
server.mapGet('/', { answers: { 200: bytes('image/png'), 404: Problem } }, () => new Uint8Array(1))
server.mapGet('/', { answers: { 200: bytes() } }, (_, { response }) => response.file('a'))
server.mapGet('/', { answers: { 200: bytes() } }, async function* () {
  yield 'piece'
})
server.mapGet('/', { answers: { 200: json(User), 202: json(t.object({ job: t.int })) } }, () => ({ job: 1 }))
server.mapGet('/', { answers: { 200: t.string.nullable() } }, () => (chance ? 'text' : null))
// @ts-expect-error a redirect has another status
server.mapGet('/', { answers: { 303: null } }, (_, { response }) => response.redirect('/'))
// @ts-expect-error something where nothing is declared
server.mapDelete('/', { answers: { 204: null } }, () => row)
// @ts-expect-error not text
server.mapGet('/', { answers: { 200: text() } }, () => row)
// @ts-expect-error not bytes
server.mapGet('/', { answers: { 200: bytes() } }, () => row)
// @ts-expect-error not an answer
server.mapGet('/', { answers: { 200: 'text' } }, () => 'text')

// Answers of groups are those of their routes. Where only errors are declared, a handler may return anything.
const group = server.group('/:org', { answers: { 401: Problem } })
group.mapGet('/', () => 'anything')
group.mapGet('/', (_, { response }) => response.status(409))
group.mapGet('/', { answers: { 200: User } }, (_, { response }) => (chance ? row : response.unauthorized()))
// @ts-expect-error neither of the group nor of the route
group.mapGet('/', { answers: { 200: User } }, (_, { response }) => response.notFound())
const inner = group.group('/inner', { answers: { 200: t.string } })
inner.mapGet('/', () => 'text')
inner.mapGet('/', { answers: { 200: t.int } }, () => 5)
inner.mapGet('/:id', { id: t.int }, ({ org, id }) => org + id.toFixed())
// @ts-expect-error the group declares text
inner.mapGet('/', () => 5)
// @ts-expect-error the route declares a number
inner.mapGet('/', { answers: { 200: t.int } }, () => 'text')

// Controllers.
@Route('/decorated', { answers: { 401: Problem } })
export class Decorated extends Controller {
  @Route('GET', '/', { answers })
  show() {
    return row
  }

  @Route('GET', '/later', { answers })
  async later() {
    return chance ? row : this.response.notFound()
  }

  @Route('/any', { answers: { 200: t.string } })
  any() {
    return 'text'
  }

  @Route('DELETE', '/', { answers: { 204: null } })
  remove() {}

  // @ts-expect-error a text where a number is declared
  @Route('GET', '/wrong', { answers })
  wrong() {
    return { ...row, id: '1' }
  }

  // @ts-expect-error no such status
  @Route('GET', '/undeclared', { answers })
  async undeclared() {
    return this.response.status(409).json({ title: '', status: 409 })
  }

  // @ts-expect-error text is declared
  @Route('/wrong-any', { answers: { 200: t.string } })
  wrongAny() {
    return 5
  }
}

export class Tabled extends Controller {
  static routes = routes(this, {
    answers: { 401: Problem },
    show: ['GET', '/', { answers }],
    later: [
      ['GET', '/later', { answers }],
      ['GET', '/again', { answers }],
    ],
    remove: ['DELETE', '/', { answers: { 204: null } }],
    free: ['GET', '/free'],
  })

  show() {
    return row
  }

  async later() {
    return chance ? row : this.response.notFound()
  }

  remove() {}
  free() {}
}

export class WrongTable extends Controller {
  static routes = routes(this, {
    // @ts-expect-error a text where a number is declared
    show: ['GET', '/', { answers }],
    // @ts-expect-error no such status
    undeclared: ['GET', '/undeclared', { answers }],
  })

  show() {
    return { ...row, id: '1' }
  }

  undeclared() {
    return this.response.forbidden()
  }
}

// Schemas of other libraries are what they read.
declare const trimmed: {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => { readonly value: number }
    readonly types?: { readonly input: string; readonly output: number } | undefined
  }
}
server.mapGet('/', { answers: { 200: trimmed } }, () => '5')
// @ts-expect-error the input of the schema is a text
server.mapGet('/', { answers: { 200: trimmed } }, () => 5)

// Recursive shapes.
interface Comment {
  text: string
  replies: Comment[]
}
declare const comment: Comment
const Comment: import('../../src/index.ts').Schema<Comment> = t.object({ text: t.string, replies: t.array(t.lazy(() => Comment)) })
server.mapGet('/', { answers: { 200: Comment } }, () => comment)

export type _any = Expect<Equal<ReturnType<InlineHandler<'/', { id: typeof t.int }>>, unknown>>
export type _problem = Expect<Equal<ReturnType<HttpResponse['notFound']>, HttpResponse<404, Problem>>>

// The answers of a table are those of all its routes, merged by status.
const Ok = t.object({ ok: t.bool })
export class TableWithAnswers extends Controller {
  static routes = routes(this, {
    answers: { 200: Ok, 404: Problem },
    fits: ['GET', '/'],
    bare: ['/bare'],
    missing: ['GET', '/missing', { etag: true }],
    own: ['GET', '/own', { answers: { 200: t.int } }],
    // @ts-expect-error neither of the class nor of the route
    wrong: ['GET', '/wrong'],
    // @ts-expect-error the same
    wrongBare: ['/wrong-bare'],
    // @ts-expect-error the route declares a number
    wrongOwn: ['GET', '/wrong-own', { answers: { 200: t.int } }],
  })

  fits() {
    return { ok: true }
  }

  bare() {
    return { ok: true }
  }

  missing() {
    return this.response.notFound()
  }

  own() {
    return 5
  }

  wrong() {
    return { ok: 'yes' }
  }

  wrongBare() {
    return this.response.forbidden()
  }

  wrongOwn() {
    return { ok: true }
  }
}

// A group compares its answers with the tables of the controllers that are mapped in it.
class Fitting extends Controller {
  static routes = routes(this, {
    show: ['GET', '/'],
    several: [
      ['GET', '/a'],
      ['GET', '/b', { answers: { 404: Problem } }],
    ],
    own: ['GET', '/own', { answers: { 200: t.int } }],
    bare: ['/bare'],
  })

  show() {
    return { ok: true }
  }

  async several() {
    return { ok: true }
  }

  own() {
    return 5
  }

  bare() {
    return this.response.json({ ok: true })
  }

  helper() {
    return 'not a route'
  }
}
class Misfit extends Controller {
  static routes = routes(this, { show: ['GET', '/'], other: ['GET', '/other', { answers: { 200: t.int } }] })

  show() {
    return 'text'
  }

  other() {
    return 5
  }
}
class Greeting extends Controller {
  static routes = routes(this, { show: ['GET', '/'] })
  readonly greeting: string

  constructor(greeting: string) {
    super()
    this.greeting = greeting
  }

  show() {
    return this.greeting
  }
}
@Route('/decorated-in-a-group')
class DecoratedInGroup extends Controller {
  @Route('GET', '/')
  show() {
    return 'only checked when it is sent'
  }
}
const closed = server.group('/closed', { answers: { 200: Ok } })
closed.mapController(Fitting).mapController(DecoratedInGroup)
server.group('/open', { answers: { 401: Problem } }).mapController(Misfit)
server.mapController(Misfit)
// @ts-expect-error 'show' returns text
closed.mapController(Misfit)
// @ts-expect-error the same in an inner group
closed.group('/inner').mapController(Misfit)
closed.group('/inner', { answers: { 200: t.string } }).mapController(Greeting, '', { create: () => new Greeting('hello') })
// @ts-expect-error the same with a constructor that needs an argument
closed.mapController(Greeting, '', { create: () => new Greeting('hello') })
