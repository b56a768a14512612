import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Matcher } from './matcher.ts'
import { Template } from './template.ts'

interface TestRoute {
  readonly source: string
}

/** Adds routes given as lines such as `GET /users/:id` or `ANY api.example.com/users`. */
function matcherOf(...lines: readonly string[]): Matcher<TestRoute> {
  const matcher = new Matcher<TestRoute>()
  for (const line of lines) add(matcher, line)
  return matcher
}

function add(matcher: Matcher<TestRoute>, line: string, source = line): void {
  const space = line.indexOf(' ')
  const slash = line.indexOf('/')
  const method = line.slice(0, space)
  const host = line.slice(space + 1, slash)
  matcher.add(method === 'ANY' ? null : method, new Template(line.slice(slash)), host === '' ? null : host, { source })
}

function found(matcher: Matcher<TestRoute>, method: string, path: string, host = ''): string | undefined {
  return matcher.find(method, path, host)?.route.source
}

test('a template without parameters matches its path exactly', () => {
  const matcher = matcherOf('GET /', 'GET /users', 'GET /users/')
  assert.equal(found(matcher, 'GET', '/'), 'GET /')
  assert.equal(found(matcher, 'GET', '/users'), 'GET /users')
  assert.equal(found(matcher, 'GET', '/users/'), 'GET /users/')
  for (const path of ['', '*', 'users', '/Users', '/user', '/usersx', '//users', '/users//'])
    assert.equal(found(matcher, 'GET', path), undefined, path)
})

test('a match without parameters is the same object every time', () => {
  const matcher = matcherOf('GET /users', 'GET /posts')
  const match = matcher.find('GET', '/users', '')
  assert.equal(matcher.find('GET', '/users', ''), match)
  assert.equal(match?.values, matcher.find('GET', '/posts', '')?.values)
  assert.deepEqual(match?.values, [])
})

test('each parameter matches one whole segment', () => {
  const matcher = matcherOf('GET /a/:x', 'GET /a/:x/b/:y/:z/:v')
  assert.deepEqual(matcher.find('GET', '/a/1', '')?.values, ['1'])
  assert.deepEqual(matcher.find('GET', '/a/1/b/2/3/4', '')?.values, ['1', '2', '3', '4'])
  for (const path of ['/a/', '/a', '/a//', '/a/1/', '/a/1/b', '/a/1/b/2', '/a/1/b//3/4', '/a//b/2/3/4', '/a/1/b/2/3/4/']) {
    assert.equal(found(matcher, 'GET', path), undefined, path)
  }
})

test('%2F does not end a segment', () => {
  assert.deepEqual(matcherOf('GET /a/:x/b').find('GET', '/a/1%2F2/b', '')?.values, ['1%2F2'])
})

test('a rest matches the rest of the path: at least one character, the first not a slash', () => {
  const matcher = matcherOf('GET /files/*path')
  assert.deepEqual(matcher.find('GET', '/files/a', '')?.values, ['a'])
  assert.deepEqual(matcher.find('GET', '/files/a//b/', '')?.values, ['a//b/'])
  for (const path of ['/files', '/files/', '/files//etc/passwd']) assert.equal(found(matcher, 'GET', path), undefined, path)
})

test('text beats a parameter, which beats a rest, segment by segment', () => {
  const matcher = matcherOf('GET /a/b', 'GET /a/:x', 'GET /a/*r', 'GET /:x/b', 'GET /*r')
  assert.equal(found(matcher, 'GET', '/a/b'), 'GET /a/b')
  assert.equal(found(matcher, 'GET', '/a/c'), 'GET /a/:x')
  assert.equal(found(matcher, 'GET', '/a/c/d'), 'GET /a/*r')
  assert.equal(found(matcher, 'GET', '/c/b'), 'GET /:x/b')
  assert.equal(found(matcher, 'GET', '/c/c'), 'GET /*r')
})

test('a branch that leads to no route is abandoned for the next one', () => {
  const matcher = matcherOf('GET /a/:x/c', 'GET /:y/b/:z', 'GET /:y/*r')
  assert.deepEqual(matcher.find('GET', '/a/b/d', '')?.values, ['a', 'd'])
  assert.deepEqual(matcher.find('GET', '/a/b/c', '')?.values, ['b'])
  assert.deepEqual(matcher.find('GET', '/a/c/d', '')?.values, ['a', 'c/d'])
})

test('texts with the same beginning are distinguished, wherever they differ', () => {
  const words = ['a', 'ab', 'abc', 'abd', 'b', 'abcdefgh', 'abcdefgi', 'ä', 'äb', 'ö', '日本', '日曜']
  const matcher = matcherOf(...words.map((word) => `GET /${word}/:x`), ...words.map((word) => `GET /p/:x/${word}`))
  for (const word of words) {
    assert.equal(found(matcher, 'GET', `/${word}/1`), `GET /${word}/:x`)
    assert.equal(found(matcher, 'GET', `/p/1/${word}`), `GET /p/:x/${word}`)
    assert.equal(found(matcher, 'GET', `/${word}~/1`), undefined)
    assert.equal(found(matcher, 'GET', `/p/1/${word}~`), undefined)
  }
  assert.equal(found(matcher, 'GET', '/abcdefgx/1'), undefined)
  assert.equal(found(matcher, 'GET', '/xbcdefgh/1'), undefined)
})

test('a text that is longer than what is left of the path does not match, even if the path ends like it', () => {
  const matcher = matcherOf('GET /p/:x/a/a')
  assert.equal(found(matcher, 'GET', '/p/a/a'), undefined)
  assert.deepEqual(matcher.find('GET', '/p/a/a/a', '')?.values, ['a'])
})

test('the order in which routes are added does not matter', () => {
  const lines = ['GET /a/:x', 'GET /ab/:x', 'GET /a/b/:x', 'GET /a/*r', 'GET /:y/z', 'GET /abc/d/:x']
  const paths = ['/a/1', '/ab/1', '/a/b/1', '/a/b', '/a/1/2', '/q/z', '/a/z', '/abc/d/1', '/abc/d']
  const answers = (matcher: Matcher<TestRoute>) => paths.map((path) => found(matcher, 'GET', path))
  const expected = answers(matcherOf(...lines))
  assert.deepEqual(answers(matcherOf(...lines.toReversed())), expected)
  // The same if routes are added between look-ups.
  const growing = new Matcher<TestRoute>()
  for (const line of lines) {
    add(growing, line)
    answers(growing)
  }
  assert.deepEqual(answers(growing), expected)
})

test('for the same template, a route for the method beats a route for any method', () => {
  const matcher = matcherOf('ANY /a', 'POST /a', 'ANY /p/:x', 'POST /p/:x', 'ANY /g', 'GET /g')
  assert.equal(found(matcher, 'GET', '/g'), 'GET /g')
  assert.equal(found(matcher, 'HEAD', '/g'), 'GET /g')
  assert.equal(found(matcher, 'POST', '/a'), 'POST /a')
  assert.equal(found(matcher, 'GET', '/a'), 'ANY /a')
  assert.equal(found(matcher, 'POST', '/p/1'), 'POST /p/:x')
  assert.equal(found(matcher, 'PURGE', '/p/1'), 'ANY /p/:x')
})

test('a more specific template for any method beats a less specific one for the method', () => {
  assert.equal(found(matcherOf('ANY /a', 'GET /:x'), 'GET', '/a'), 'ANY /a')
})

test('a template without the method is skipped for a less specific one that has it', () => {
  const matcher = matcherOf('GET /a/b', 'PUT /a/:x', 'POST /a/*r', 'DELETE /:x/b', 'PATCH /*r')
  assert.equal(found(matcher, 'PUT', '/a/b'), 'PUT /a/:x')
  assert.equal(found(matcher, 'POST', '/a/b'), 'POST /a/*r')
  assert.equal(found(matcher, 'DELETE', '/a/b'), 'DELETE /:x/b')
  assert.equal(found(matcher, 'PATCH', '/a/b'), 'PATCH /*r')
  assert.equal(found(matcher, 'OPTIONS', '/a/b'), undefined)
  assert.deepEqual(matcher.find('PATCH', '/a/b', '')?.values, ['a/b'])
})

test('HEAD is handled by its own route, or else by GET, or else by any method', () => {
  const matcher = matcherOf('GET /a', 'HEAD /a', 'GET /b', 'ANY /b', 'ANY /c', 'GET /p/:x', 'POST /d')
  assert.equal(found(matcher, 'HEAD', '/a'), 'HEAD /a')
  assert.equal(found(matcher, 'HEAD', '/b'), 'GET /b')
  assert.equal(found(matcher, 'HEAD', '/c'), 'ANY /c')
  assert.equal(found(matcher, 'HEAD', '/p/1'), 'GET /p/:x')
  assert.equal(found(matcher, 'HEAD', '/d'), undefined)
})

test('methods are case-sensitive', () => {
  assert.equal(found(matcherOf('GET /a'), 'get', '/a'), undefined)
  assert.equal(found(matcherOf('GET /a'), 'constructor', '/a'), undefined)
})

test('methodsFor lists the methods of every template that matches the path', () => {
  const matcher = matcherOf('GET /a/b', 'PUT /a/:x', 'POST /a/*r', 'DELETE /c', 'ANY /any/:x', 'POST /any/:x')
  assert.deepEqual(matcher.methodsFor('/a/b', ''), ['GET', 'HEAD', 'POST', 'PUT'])
  assert.deepEqual(matcher.methodsFor('/a/x', ''), ['POST', 'PUT'])
  assert.deepEqual(matcher.methodsFor('/a', ''), [])
  assert.deepEqual(matcher.methodsFor('*', ''), [])
  assert.deepEqual(matcher.methodsFor('/any/1', ''), ['POST'])
})

test('routes for a host beat routes for any host, which still serve its other paths', () => {
  const matcher = matcherOf('GET /a', 'GET /b', 'GET api.example.com/a', 'GET api.example.com/:x/y', 'POST api.example.com/b')
  assert.equal(found(matcher, 'GET', '/a', 'api.example.com'), 'GET api.example.com/a')
  assert.equal(found(matcher, 'GET', '/z/y', 'api.example.com'), 'GET api.example.com/:x/y')
  assert.equal(found(matcher, 'GET', '/b', 'api.example.com'), 'GET /b')
  assert.equal(found(matcher, 'GET', '/a', 'example.com'), 'GET /a')
  assert.equal(found(matcher, 'GET', '/a', ''), 'GET /a')
  assert.equal(found(matcher, 'GET', '/z/y', ''), undefined)
  assert.deepEqual(matcher.methodsFor('/b', 'api.example.com'), ['GET', 'HEAD', 'POST'])
  assert.deepEqual(matcher.methodsFor('/b', 'example.com'), ['GET', 'HEAD'])
})

test('a *. host matches one or more labels, and the most specific host wins', () => {
  const matcher = matcherOf('GET *.example.com/', 'GET *.eu.example.com/', 'GET api.eu.example.com/', 'GET *.example.com/only')
  assert.equal(found(matcher, 'GET', '/', 'www.example.com'), 'GET *.example.com/')
  assert.equal(found(matcher, 'GET', '/', 'a.b.example.com'), 'GET *.example.com/')
  assert.equal(found(matcher, 'GET', '/', 'www.eu.example.com'), 'GET *.eu.example.com/')
  assert.equal(found(matcher, 'GET', '/', 'api.eu.example.com'), 'GET api.eu.example.com/')
  assert.equal(found(matcher, 'GET', '/only', 'api.eu.example.com'), 'GET *.example.com/only')
  for (const host of ['example.com', '.example.com', 'notexample.com', 'www.example.com.evil', `${'a.'.repeat(200)}example.com`, '']) {
    assert.equal(found(matcher, 'GET', '/', host), undefined, host)
  }
})

test('a host may be declared in upper or lower case', () => {
  assert.equal(found(matcherOf('GET API.Example.com/'), 'GET', '/', 'api.example.com'), 'GET API.Example.com/')
  assert.equal(found(matcherOf('GET [::1]/'), 'GET', '/', '[::1]'), 'GET [::1]/')
})

test('an invalid host or method is refused', () => {
  const refused = { code: 'WEIR_ROUTE_DECLARATION' }
  for (const host of ['', 'a b', 'example.com:80', 'http://x', '*', '*example.com', 'a.*.com', '.example.com', 'a..b', 'a'.repeat(254)]) {
    assert.throws(() => new Matcher<TestRoute>().add('GET', new Template('/'), host, { source: '' }), refused, host)
  }
  for (const method of ['', 'GET ', 'GE\nT'])
    assert.throws(() => new Matcher<TestRoute>().add(method, new Template('/'), null, { source: '' }), refused)
})

const CLASHES: readonly (readonly [string, string])[] = [
  ['GET /a', 'GET /a'],
  ['GET /a/:x', 'GET /a/:y'],
  ['GET /a/*x', 'GET /a/*y'],
  ['GET /:a/b/:c', 'GET /:c/b/:a'],
  ['ANY /a', 'ANY /a'],
  ['GET /gr%C3%BCn', 'GET /grün'],
  ['GET example.com/a/:x', 'GET EXAMPLE.com/a/:y'],
]

for (const [first, second] of CLASHES) {
  test(`refuses ${second} next to ${first}`, () => {
    const matcher = matcherOf()
    add(matcher, first, 'first')
    assert.throws(() => add(matcher, second, 'second'), {
      code: 'WEIR_ROUTE_CLASH',
      message: /\(first\) and .*\(second\): remove one, or change its path$/,
    })
  })
}

test('a clash names both routes', () => {
  const matcher = matcherOf()
  add(matcher, 'GET api.example.com/a/:x', 'UserController.show')
  assert.throws(() => add(matcher, 'GET api.example.com/a/:y', 'inline'), {
    message:
      'two routes claim the same requests: GET api.example.com/a/:x (UserController.show) and GET api.example.com/a/:y (inline): remove one, or change its path',
  })
})

test('a refused route changes nothing', () => {
  const matcher = matcherOf('GET /a')
  assert.throws(() => add(matcher, 'GET /a', 'second'))
  assert.equal(found(matcher, 'GET', '/a'), 'GET /a')
})

test('routes that differ in method, host, text or the place of a parameter do not clash', () => {
  matcherOf(
    'GET /a',
    'POST /a',
    'ANY /a',
    'HEAD /a',
    'GET /a/',
    'GET x.de/a',
    'GET *.x.de/a',
    'GET /a/:x',
    'GET /:x/a',
    'GET /a/*r',
    'GET /A',
  )
})

test('names of Object.prototype as method, host or path find no route', () => {
  const matcher = matcherOf('GET /a', 'GET x.de/a')
  for (const name of ['__proto__', 'constructor', 'toString']) {
    assert.equal(found(matcher, name, '/a'), undefined)
    assert.equal(found(matcher, 'GET', `/${name}`), undefined)
    assert.equal(found(matcher, 'GET', name, name), undefined)
  }
})

test('a rest may begin with a slash if it is written with two asterisks', () => {
  const matcher = matcherOf('ANY /**all', 'GET /a/*one', 'GET /b/**more')
  for (const [path, source] of [
    ['//a', 'ANY /**all'],
    ['//', 'ANY /**all'],
    ['/x//y', 'ANY /**all'],
    ['/a//b', 'ANY /**all'],
    ['/a/b//c', 'GET /a/*one'],
    ['/b//c', 'GET /b/**more'],
    ['/b/c', 'GET /b/**more'],
    ['/', undefined],
    ['/b/', 'ANY /**all'],
  ] as const) {
    assert.equal(found(matcher, 'GET', path), source, path)
  }
  assert.deepEqual(matcher.find('GET', '/b//c/d', '')?.values, ['/c/d'])
  assert.throws(() => add(matcher, 'GET /b/*more', 'second'), { code: 'WEIR_ROUTE_CLASH' })
})
