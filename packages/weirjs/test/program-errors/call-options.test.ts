// Unknown options of calls in a handler, and options with invalid values: the call throws, and does nothing.

import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { HttpResponse, type HttpSession, saveTo } from '../../src/index.ts'
import { failureIn } from '../support/failure-in.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const form = new FormData()
form.set('a', new File(['x'], 'a.txt'))

test('a misspelt attribute of a cookie is refused, and nothing is set', () => {
  const response = new HttpResponse()
  const message = /cookie\(\): there is no option "httponly": it is called "httpOnly"/
  assert.throws(() => response.cookie('a', 'b', { httponly: true } as never), { code: 'WEIR_OPTION_INVALID', message })
  assert.throws(() => response.deleteCookie('a', { paht: '/' } as never), { code: 'WEIR_OPTION_INVALID', message: /"paht"/ })
  assert.throws(() => response.cookie('a', 'b', 'Secure' as never), { code: 'WEIR_OPTION_INVALID', message: /not a string/ })
  assert.equal(response.getHeader('set-cookie'), null)
  const all = {
    ...({ maxAge: '1s' } as const),
    ...{ expires: new Date(0), domain: 'h', path: '/', httpOnly: true, secure: true },
    ...({ partitioned: true, priority: 'low', sameSite: 'lax' } as const),
  }
  assert.match(response.cookie('a', 'b', all).getHeader('set-cookie')!, /HttpOnly/)
})

const misspelt: Readonly<Record<string, readonly [call: (session: HttpSession) => unknown, sent: object]>> = {
  file: [({ response }) => response.file('x', { etags: false } as never), {}],
  bodyMap: [({ request }) => request.bodyMap({ a: 1 }, { exclude: ['a'] } as never), { json: { a: 2 } }],
  'settings of bodyMap': [({ request }) => request.bodyMap({ a: 1 }, { settings: { maxdepth: 1 } as never }), { json: { a: 2 } }],
  bodyMapAnonymous: [({ request }) => request.bodyMapAnonymous({ a: 1 }, { includeProperties: [] } as never), { json: { a: 2 } }],
  bodyMultipart: [({ request }) => request.bodyMultipart({ maxFilesize: 1 } as never), { body: form }],
  bodyMultipartStream: [({ request }) => request.bodyMultipartStream({ onfile: () => {} } as never), { body: form }],
  'bodyMultipart after the form was read': [
    async ({ request }) => {
      await request.bodyMultipart()
      await request.bodyMultipart({ maxFilesize: 1 } as never)
    },
    { body: form },
  ],
  'bodyMultipartStream without a form': [({ request }) => request.bodyMultipartStream({ onfile: () => {} } as never), {}],
  'bodyMultipartStream without callbacks': [({ request }) => request.bodyMultipartStream(undefined as never), { body: form }],
}
for (const [what, [call, sent]] of Object.entries(misspelt)) {
  test(`an option that does not exist is refused: ${what}`, async () => {
    assert.equal(((await failureIn(call, sent)) as { code?: string } | null)?.code, 'WEIR_OPTION_INVALID')
  })
}

test('known options are accepted where unknown ones are refused', async () => {
  const settings = { reviver: (_: string, value: unknown) => value, maxDepth: 9, zoneless: 'utc', unknownProperties: 'ignore', nullValues: 'set' } as const // biome-ignore format: one line
  const options = { jsonEngine: null, settings, includeProperties: null, excludeProperties: null }
  assert.equal(await failureIn(({ request }) => request.bodyMap({ a: 1 }, options), { json: { a: 2 } }), null)
  const limits = { maxParts: 9, maxFileSize: 9, maxFieldSize: 9 }
  assert.equal(await failureIn(({ request }) => request.bodyMultipart(limits), { body: form }), null)
  const callbacks = { onField: () => {}, onFile: () => {} }
  assert.equal(await failureIn(({ request }) => request.bodyMultipartStream({ ...limits, ...callbacks }), { body: form }), null)
})

const limitsThatAreNone: Readonly<Record<string, readonly [call: (session: HttpSession) => unknown, sent: object]>> = {
  bodyMultipart: [({ request }) => request.bodyMultipart({ maxParts: '1' as never }), { body: form }],
  'bodyMultipart where no form came': [({ request }) => request.bodyMultipart({ maxFieldSize: '1' as never }), {}],
  bodyMultipartStream: [({ request }) => request.bodyMultipartStream({ maxFileSize: '1' as never }), { body: form }],
  'bodyMultipartStream without a form': [({ request }) => request.bodyMultipartStream({ maxFieldSize: '1' as never }), {}],
}
for (const [what, [call, sent]] of Object.entries(limitsThatAreNone)) {
  test(`an invalid limit is refused: ${what}`, async () => {
    const failure = (await failureIn(call, sent)) as { code?: string; message?: string } | null
    assert.equal(failure?.code, 'WEIR_OPTION_INVALID')
    assert.match(failure!.message!, /max\w+ is the string "1", not a whole number/)
  })
}

const settings = (settings: object) => (session: HttpSession) => session.request.bodyMap({ a: 1 }, { settings })
const engine = (jsonEngine: unknown) => (session: HttpSession) => session.request.bodyMapAnonymous({ a: 1 }, { jsonEngine } as never)
const file = (options: object) => (session: HttpSession) => session.response.file('x', options)
const wrong: readonly (readonly [call: (session: HttpSession) => unknown, message: RegExp])[] = [
  [settings({ zoneless: 'x' }), /bodyMap\(\): settings\.zoneless is the string "x", not "utc" or "local"/],
  [settings({ unknownProperties: true }), /unknownProperties is true, not "ignore" or "error"/],
  [settings({ nullValues: 'null' }), /nullValues is the string "null", not "set" or "ignore"/],
  [settings({ reviver: 'x' }), /reviver is the string "x", not a function/],
  [settings({ maxDepth: '5' }), /maxDepth is the string "5", not a whole number of at least 1/],
  [settings(0 as never), /settings: options must be an object, not a number/],
  [engine({}), /bodyMapAnonymous\(\): jsonEngine is an object without serialize\(\)/],
  [engine(5), /jsonEngine is a number without serialize\(\)/],
  [engine({ serialize: () => '', deserialize: () => 1, populate: 1 }), /jsonEngine is an object without populate\(\)/],
  [file({ download: 5 }), /file\(\): download is 5, not true, false or a name/],
  [file({ contentType: null }), /contentType is null, not a string/],
  [file({ cacheControl: 60 }), /cacheControl is 60, not a string/],
  [file({ etag: 'no' }), /etag is the string "no", not true or false/],
  [file({ lastModified: 0 }), /lastModified is 0/],
  [file({ acceptRanges: 'none' }), /acceptRanges is the string "none"/],
]
for (const [call, message] of wrong) {
  test(`an invalid value of an option is refused: ${message.source}`, async () => {
    for (const sent of [{ json: { a: 2 } }, { body: new URLSearchParams({ a: '2' }) }]) {
      const failure = (await failureIn(call, sent)) as { code?: string; message: string } | null
      assert.equal(failure?.code, 'WEIR_OPTION_INVALID')
      assert.match(failure.message, message)
    }
  })
}

test('saveTo with an invalid policy saves nothing, and does not touch the disk', async (t) => {
  const folder = temporaryDirectory(t)
  for (const [policy, message] of [
    [{ hash: 'sha-512-of-old' }, /saveTo\(\): hash is the string "sha-512-of-old", which this system does not support/],
    [{ hash: 256 }, /hash is 256/],
    [{ magic: 'PNG' }, /magic is the string "PNG", not a list/],
    [{ magic: ['PNG'] }, /magic: the string "PNG" is not a list of bytes/],
    [{ fileName: 5 }, /fileName is 5, not a string/],
    [{ sync: 'yes' }, /sync is the string "yes", not true or false/],
  ] as const) {
    const saving = saveTo(`${folder}/none`, { fileName: 'a.txt' }, Buffer.from('x'), policy as never)
    await assert.rejects(saving, { code: 'WEIR_OPTION_INVALID', message })
  }
})

test('a callback of bodyMultipartStream that is not a function is refused', async () => {
  for (const name of ['onFile', 'onField']) {
    const failure = await failureIn(({ request }) => request.bodyMultipartStream({ [name]: {} }), { body: form })
    const { code, message } = failure as { code?: string; message: string }
    assert.equal(code, 'WEIR_OPTION_INVALID')
    assert.match(message, new RegExp(`bodyMultipartStream\\(\\): ${name} is an object, not a function`))
  }
})

test('saveTo with an invalid size saves nothing: there would be no limit', async (t) => {
  const folder = temporaryDirectory(t)
  for (const maxSize of [Number.NaN, '10 MB', '5', -1, 1.5, null] as never[]) {
    const saving = saveTo(folder, { fileName: 'a.txt' }, Buffer.from('x'), { maxSize })
    await assert.rejects(saving, { code: 'WEIR_OPTION_INVALID', message: /maxSize is / }, String(maxSize))
  }
  assert.deepEqual(readdirSync(folder), [])
  assert.equal((await saveTo(folder, { fileName: 'a.txt' }, Buffer.from('x'), { maxSize: Number.POSITIVE_INFINITY })).size, 1)
})

test('saveTo with an option that does not exist saves nothing', async (t) => {
  const folder = temporaryDirectory(t)
  const saving = saveTo(folder, { fileName: 'a.txt' }, Buffer.from('x'), { maxsize: 1 } as never)
  await assert.rejects(saving, { code: 'WEIR_OPTION_INVALID', message: /"maxSize"/ })
  assert.deepEqual(readdirSync(folder), [])
})
