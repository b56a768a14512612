import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { checkedHosts, HostNames, type HostsOption, isOfThisMachine } from './host-names.ts'

const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?$/).filter((text) => !text.startsWith('xn--'))
const topLabel = fc.stringMatching(/^[a-z]{2,6}$/).filter((text) => text !== 'localhost')
const name = fc.tuple(fc.array(label, { minLength: 1, maxLength: 3 }), topLabel).map(([labels, top]) => [...labels, top].join('.'))
const port = fc.integer({ min: 0, max: 65_535 }).map((number) => (number === 0 ? '' : `:${number}`))
const upperSomewhere = (text: string): fc.Arbitrary<string> =>
  fc
    .array(fc.boolean(), { minLength: text.length, maxLength: text.length })
    .map((bits) => [...text].map((letter, i) => (bits[i] === true ? letter.toUpperCase() : letter)).join(''))

test('the names of this machine, in any case and with any port', () => {
  const own = fc.oneof(
    fc.constantFrom('localhost', 'localhost.', '[::1]'),
    fc.array(label, { minLength: 1, maxLength: 3 }).map((labels) => `${labels.join('.')}.localhost`),
    fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255)).map((bytes) => `127.${bytes.join('.')}`),
  )
  fc.assert(fc.property(own.chain(upperSomewhere), port, (host, at) => isOfThisMachine(host + at)))
})

test('no name that somebody can register is one of this machine, whatever it begins with', () => {
  const begins = fc.constantFrom('', 'localhost.', '127.0.0.1.', 'localhost-', '127-0-0-1.', 'x.localhost.')
  fc.assert(fc.property(begins, name, port, (start, other, at) => !isOfThisMachine(start + other + at)))
})

test('what a browser does not write is not a name of this machine', () => {
  const others = [
    ...['', '.', 'localhost..', '.localhost', 'a..localhost', 'xlocalhost', 'local', 'localhost.localdomain', 'localhost:123456'],
    ...['127.1', '127.0.0.1.', '127.0.0.01', '0127.0.0.1', '0x7f.0.0.1', '2130706433', '127.0.0.256', '128.0.0.1', '0.0.0.0', '0'],
    ...['::1', '[::]', '[::2]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::1%lo]', '[v1.a]', '192.168.0.1'],
    ...['localhost@evil.example', 'evil.example#localhost', 'localhost\u0000', 'localhost\n', 'LOCALHOST.EVIL.EXAMPLE', 'l\u043ecalhost'],
  ]
  assert.deepEqual(others.filter(isOfThisMachine), [])
})

test('a listed name stands for itself, in any case, with a dot of the root, and with every port', () => {
  fc.assert(
    fc.property(
      fc.tuple(name, fc.constantFrom('', '.')).chain(([host, dot]) => fc.tuple(fc.constant(host), upperSomewhere(host + dot))),
      port,
      ([host, sent], at) => new HostNames([host]).has(sent + at),
    ),
  )
})

test('a listed name stands for no other', () => {
  fc.assert(
    fc.property(name, name, port, label, (host, other, at, more) => {
      const names = new HostNames([host])
      for (const sent of [`${more}.${host}`, `${more}${host}`, `${host}.${more}`, `${host}..`, ...(other === host ? [] : [other])])
        assert.equal(names.has(sent + at), false, sent)
    }),
  )
})

test('an asterisk stands for one or more labels, and not for none', () => {
  fc.assert(
    fc.property(name, fc.array(label, { minLength: 1, maxLength: 3 }), port, (host, labels, at) => {
      const names = new HostNames([`*.${host}`])
      assert.equal(names.has(`${labels.join('.')}.${host}${at}`), true)
      for (const sent of [host, `.${host}`, `..${host}`, `a..${host}`, `a.${host}.b`, `a${host}`, `[::1].${host}`])
        assert.equal(names.has(sent + at), false, sent)
    }),
  )
})

test('a port that is listed is the only one', () => {
  const names = new HostNames(['app.example:8443', '*.app.example:8443', '[::1]:8443'])
  for (const host of ['app.example:8443', 'APP.example.:8443', 'a.b.app.example:8443', '[::1]:8443'])
    assert.equal(names.has(host), true, host)
  for (const host of ['app.example', 'app.example:', 'app.example:443', 'a.app.example:84430', 'a.app.example', '[::1]', '[::1]:443'])
    assert.equal(names.has(host), false, host)
})

test('a mistake in the option names what is meant', () => {
  const rows: readonly [given: unknown, message: RegExp][] = [
    ['https://app.example.org', /write hosts: \["app\.example\.org"\]/],
    ['localhost', /write hosts: \["localhost"\]/],
    ['*', /write hosts: "any"/],
    ['Any', /write hosts: "any"/],
    [['*'], /write hosts: "any"/],
    [['any'], /write hosts: "any"/],
    [[], /is empty.*write "any"/],
    [null, /not a list of hosts/],
    [{}, /not a list of hosts/],
    [[7], /7 is not a host/],
    [[''], /"" is not a host/],
    [['https://app.example.org/x?y'], /: write "app\.example\.org"/],
    [['http://localhost:3000'], /: write "localhost:3000"/],
    [['app.example.org/'], /: write "app\.example\.org"/],
    [['app.example.org.'], /: write "app\.example\.org"/],
    [['app.example.org:443'], /: write "app\.example\.org"/],
    [['app.example.org:80'], /: write "app\.example\.org"/],
    [['.example.org'], /: write "\*\.example\.org"/],
    [['*example.org'], /: write "\*\.example\.org"/],
    [['m\u00fcnchen.example'], /: write "xn--mnchen-3ya\.example"/],
    [['::1'], /: write "\[::1\]"/],
    [['[0:0:0:0:0:0:0:1]:8080'], /: write "\[::1\]:8080"/],
    [['127.1'], /: write "127\.0\.0\.1"/],
    [['*.127.0.0.1'], /is not a host/],
    [['a b'], /is not a host/],
    [['app.*.org'], /is not a host/],
    [['example.org:0'], /is not a host/],
    [['example.org:65536'], /is not a host/],
  ]
  for (const [given, message] of rows)
    assert.throws(() => checkedHosts(given as HostsOption, 'new HttpServer()', 'hosts'), { code: 'WEIR_OPTION_INVALID', message })
})

test('what is meant is always accepted, and so is every name and address as browsers write them', () => {
  for (const given of [
    'any',
    ['localhost', 'APP.example.org', '*.example.org:8443', '127.0.0.1', '[::1]:8080', 'my_host', 'xn--mnchen-3ya.example'],
  ])
    assert.equal(checkedHosts(given as HostsOption, 'x', 'hosts'), given)
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 20 }), (text) => {
      try {
        checkedHosts([text], 'x', 'hosts')
      } catch (error) {
        const meant = /: write (".*")$/.exec((error as Error).message)?.[1]
        if (meant !== undefined) checkedHosts([JSON.parse(meant) as string], 'x', 'hosts')
      }
    }),
  )
})
