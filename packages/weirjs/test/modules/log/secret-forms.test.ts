// Secrets in URLs, under every spelling of their names: the access log, the server's own logger, the inspector and recordings show none.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { inspector, record } from '../../../../dev/src/index.ts'
import { HttpServer } from '../../../src/index.ts'
import { type AccessLogOptions, accessLog } from '../../../src/modules/log/index.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

const NAMES = ['access_token', 'api_key', 'client_secret', 'id_token', 'password', 'sig']

/** Other ways to write a name that some server reads as the same. */
const SPELLINGS: Readonly<Record<string, (name: string) => string>> = {
  'as it is': (name) => name,
  'upper case': (name) => name.toUpperCase(),
  'camel case': (name) => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
  hyphens: (name) => name.replaceAll('_', '-'),
  'one word': (name) => name.replaceAll('_', ''),
  'a letter encoded': (name) => `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`,
  'everything encoded': (name) => [...name].map((char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`).join(''),
  'encoded in lower case': (name) => [...name].map((char) => `%${char.charCodeAt(0).toString(16)}`).join(''),
  'encoded twice': (name) => [...name].map((char) => `%25${char.charCodeAt(0).toString(16)}`).join(''),
  'a list': (name) => `${name}[]`,
  'a list with encoded brackets': (name) => `${name}%5B%5D`,
  'of an object': (name) => `user[${name}]`,
  'of an object, encoded': (name) => `user%5b${name}%5d`,
  'a malformed escape behind it': (name) => `%${name.charCodeAt(0).toString(16)}${name.slice(1)}[%zz]`,
}

/** Where a pair may be in a URL. */
const PLACES: Readonly<Record<string, (name: string) => string>> = {
  first: (name) => `?${name}=CANARY`,
  'between others': (name) => `?a=1&${name}=CANARY&b=2`,
  'behind a question mark': (name) => `?a?${name}=CANARY`,
  'behind a semicolon': (name) => `?a=1;${name}=CANARY;b=2`,
  'with a semicolon in its value': (name) => `?${name}=x;CANARY`,
  'with an equals sign in its value': (name) => `?${name}=x=CANARY`,
  'in a path': (name) => `;${name}=CANARY/more?a=1`,
  'in the URL to return to': (name) => `?to=${encodeURIComponent(`https://a.example/?a=1&${name}=CANARY`)}`,
  'in a URL in that URL': (name) => `?to=${encodeURIComponent(`/b?to=${encodeURIComponent(`/c#${name}=CANARY`)}`)}`,
}

function formsOf(names: readonly string[]): string[] {
  return names.flatMap((name) => Object.values(SPELLINGS).flatMap((spell) => Object.values(PLACES).map((place) => place(spell(name)))))
}

function logged(options: AccessLogOptions): { server: HttpServer; lines: string[] } {
  const lines: string[] = []
  const note = (...values: unknown[]): void => void lines.push(values.map(String).join(' '))
  const server = new HttpServer({ logger: { error: note } })
  server.use(accessLog({ fields: ['referer'], to: { write: (text: string) => void lines.push(text) }, ...options }))
  return { server, lines }
}

test('the access log shows no value of a usual secret, however its name is written', async () => {
  const { server, lines } = logged({})
  for (const form of formsOf(NAMES)) {
    lines.length = 0
    await server.inject({ url: `/page${form}`, headers: { referer: `https://a.example/page${form}` } })
    assert.ok(lines.length > 0 && !lines.join().includes('CANARY'), `${form}: ${lines.join()}`)
    assert.ok(lines.join().includes('/page'), 'the rest is shown')
  }
})

test('nor one of a field with a form of its own, although another field has the same value', async () => {
  const values: Readonly<Record<string, readonly [value: string, shown: string]>> = {
    'sec-websocket-protocol': ['chat, token.CANARY', 'chat, token.'],
    'upload-concat': ['final;CANARY files/CANARY', 'final;'],
    'upload-metadata': ['filename YQ==,token CANARY', 'filename YQ==,token '],
  }
  const { server, lines } = logged({ fields: ['x-other', ...Object.keys(values)] })
  for (const [name, [value, shown]] of Object.entries(values)) {
    await server.inject({ url: '/', headers: { 'x-other': value } })
    lines.length = 0
    await server.inject({ url: '/', headers: { [name]: value } })
    assert.ok(lines.join().includes(shown) && !lines.join().includes('CANARY'), lines.join())
  }
})

test('nor credentials in a field that has another name, whatever is around them', async () => {
  const { server, lines } = logged({ fields: ['x-other'] })
  const around = [(one: string) => one, (one: string) => `to ${one}`, (one: string) => `a/1 ${one}`, (one: string) => `a=1, ${one}; b:2`]
  const credentials = ['Bearer', 'basic', 'DPoP', 'Negotiate'].flatMap((scheme) =>
    [' ', '\t', '  ', '+'].map((blank) => `${scheme}${blank}CANARY`),
  )
  for (const value of credentials.flatMap((one) => around.map((put) => put(one)))) {
    lines.length = 0
    await server.inject({ url: '/', headers: { 'X-Other': value, 'User-Agent': value, Referer: value } })
    assert.ok(lines.length > 0 && !lines.join().includes('CANARY'), `${value}: ${lines.join()}`)
  }
  lines.length = 0
  await server.inject({ url: '/', headers: { 'X-Other': 'two words', 'User-Agent': 'an agent' } })
  assert.ok(lines.join().includes('two words') && lines.join().includes('an agent'), 'other words are shown')
})

test('nor of a name that was chosen; what was not chosen is shown', async () => {
  const { server, lines } = logged({ secretQuery: ['my_own'] })
  for (const form of formsOf(['my_own'])) {
    lines.length = 0
    await server.inject({ url: `/page${form}` })
    assert.ok(lines.length > 0 && !lines.join().includes('CANARY'), `${form}: ${lines.join()}`)
  }
  lines.length = 0
  for (const url of ['/?my_ow=1', '/?my_owner=2&a=3', '/a=4?b=5;c=6', '/?to=%2Fx%3Fa%3D7']) await server.inject({ url })
  for (const shown of ['my_ow=1', 'my_owner=2&a=3', '/a=4?b=5;c=6', 'to=%2Fx%3Fa%3D7']) assert.ok(lines.join().includes(shown), shown)
})

test('nor do the inspector and a recording', async (t) => {
  const token = 'token-of-these-tests-1'
  const { server, lines } = logged({})
  server.use(inspector({ token, exchanges: 2_000 }))
  const to = join(temporaryDirectory(t), 'exchanges.jsonl')
  const recording = record(server, { to, max: 2_000 })
  const forms = formsOf(['access_token', 'sig'])
  for (const form of forms) await server.inject({ url: `/page${form}` })
  await recording.stop()
  const looks = { peer: { address: '127.0.0.1' }, headers: { authorization: `Bearer ${token}` } }
  const shown = (await server.inject({ url: '/_weir/har', ...looks })).text()
  const recorded = readFileSync(to, 'utf8')
  assert.equal(recorded.split('\n').length - 1, forms.length)
  for (const text of [shown, recorded, ...lines]) assert.equal(/.{0,80}CANARY/.exec(text)?.[0], undefined)
})
