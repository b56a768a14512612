// Declared forms whose files go elsewhere while they arrive: what the handler gets, and that nothing is left behind of a form that is refused.

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { describe, test } from 'node:test'

import { file, HttpServer, multipart, type SavedFile, saveTo, t } from '../../src/index.ts'
import { encodeForm, FORM_FIELD, type FormPart, patternBytes } from '../support/forms.ts'
import { eventually, gate, inBothReadModes } from '../support/serving.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const LARGE = patternBytes(3_000_000)
const video = (content: string | Uint8Array = LARGE, fileName = '../a/sea.mp4'): FormPart => ({
  name: 'video',
  fileName,
  contentType: 'video/mp4',
  content,
})
const title: FormPart = { name: 'title', content: 'Sea' }
const OPEN = { maxRequestBodySize: 10_000_000 }

inBothReadModes('a declared form with files on the disk', (serve) => {
  test('the handler gets typed fields and saved files, whatever the order of the parts', async (t2) => {
    const directory = temporaryDirectory(t2)
    const body = multipart({
      fields: { title: t.string, year: t.int.optional() },
      files: {
        video: file({ saveTo: directory, maxSize: 4_000_000 }),
        more: file({ saveTo: directory, count: 3 }).optional(),
        note: file().optional(),
      },
    })
    const { connect } = await serve(t2, (server) =>
      server.mapPost('/', { body, ...OPEN }, ({ body: { fields, files } }) => {
        const saved: SavedFile = files.video
        return {
          fields,
          saved,
          more: files.more?.map(({ fileName, clientName, size }) => [fileName, size, clientName]),
          note: files.note?.content.length,
        }
      }),
    )
    const small = (name: string): FormPart => ({ name: 'more', fileName: name, content: name })
    const form = encodeForm([
      video(),
      { name: 'other', fileName: 'x', content: LARGE },
      title,
      small('1.txt'),
      small('1.txt'),
      { name: 'note', fileName: 'n', content: '12' },
    ])
    const response = (await (await connect()).post('/', form, FORM_FIELD).message()).json() as {
      saved: SavedFile
      more: [string, number, string][]
    } & Record<string, unknown>
    assert.deepEqual(
      { ...response, more: response.more.map(([, size, clientName]) => [size, clientName]) },
      {
        fields: { title: 'Sea' },
        saved: {
          path: join(directory, 'sea.mp4'),
          fileName: 'sea.mp4',
          clientName: '../a/sea.mp4',
          size: LARGE.length,
          hash: null,
          detectedType: null,
        },
        more: [
          [5, '1.txt'],
          [5, '1.txt'],
        ],
        note: 2,
      },
    )
    assert.ok(readFileSync(response.saved.path).equals(LARGE))
    assert.deepEqual(readdirSync(directory).sort(), ['sea.mp4', ...response.more.map(([name]) => name)].sort())
  })

  const REFUSED: readonly (readonly [what: string, parts: readonly FormPart[], status: number])[] = [
    ['a later field does not fit', [video(), { name: 'title', content: 'Sea' }, { name: 'year', content: 'soon' }], 400],
    ['a field is missing', [video()], 400],
    ['a part is not declared', [video(), title, { name: 'admin', content: 'true' }], 400],
    ['a second file where there is one', [video(), title, video('again')], 413],
    ['a file that is too large', [title, video(patternBytes(3_500_001))], 413],
    ['a later file is too large', [video(), title, { name: 'more', fileName: 'a', content: '12345678901' }], 413],
    [
      'a later file has another type',
      [video(), title, { name: 'picture', fileName: 'a.png', contentType: 'image/png', content: '<script>' }],
      415,
    ],
  ]
  for (const [what, parts, status] of REFUSED) {
    test(`nothing is left behind: ${what}`, async (t2) => {
      const directory = temporaryDirectory(t2)
      const body = multipart({
        fields: { title: t.string, year: t.int.optional() },
        files: {
          video: file({ saveTo: directory, maxSize: 3_500_000 }),
          more: file({ saveTo: directory, maxSize: 10 }).optional(),
          picture: file({ saveTo: directory, types: ['image/*'] }).optional(),
        },
      }).strict()
      const { connect } = await serve(t2, (server) => server.mapPost('/', { body, ...OPEN }, () => assert.fail('handled')))
      const response = await (await connect()).post('/', encodeForm(parts), FORM_FIELD).message()
      assert.equal(response.status, status, response.text)
      assert.deepEqual(readdirSync(directory), [])
    })
  }

  test('the type that the bytes show is known, whatever the client states', async (t2) => {
    const directory = temporaryDirectory(t2)
    const types = ['image/*', 'application/epub+zip', 'text/csv']
    const body = multipart({ files: { files: file({ saveTo: directory, types, count: 5 }), any: file({ saveTo: directory }) } })
    const { connect } = await serve(t2, (server) =>
      server.mapPost('/', { body, ...OPEN }, ({ body: { files } }) => ({
        types: [...files.files, files.any].map(({ detectedType }) => detectedType),
      })),
    )
    const part = (name: string, contentType: string, content: string) =>
      ({ name, fileName: 'a.bin', contentType, content: Buffer.from(content, 'latin1') }) as const
    const form = encodeForm([
      part('files', 'image/gif', '\x89PNG\r\n\x1a\n'),
      part('files', 'image/png', `RIFF....WEBP${'.'.repeat(100)}`),
      part('files', 'image/png', 'PK\x03\x04'),
      part('files', 'text/csv', 'a,b'),
      part('any', 'image/png', '\x89PNG\r\n\x1a\n'),
    ])
    const response = await (await connect()).post('/', form, FORM_FIELD).message()
    assert.deepEqual(response.json(), { types: ['image/png', 'image/webp', 'application/epub+zip', null, null] })
  })

  test('nothing is left behind when the client leaves in a later part', async (t2) => {
    const directory = temporaryDirectory(t2)
    const body = multipart({ fields: { title: t.string }, files: { video: file({ saveTo: directory }) } })
    const { connect } = await serve(t2, (server) => server.mapPost('/', { body, ...OPEN }, () => assert.fail('handled')))
    const client = await connect()
    const form = encodeForm([video(), title])
    client.send(`POST / HTTP/1.1\r\nHost: a\r\n${FORM_FIELD}Content-Length: ${form.length}\r\n\r\n`)
    client.send(form.subarray(0, form.length - 20))
    await eventually(() => readdirSync(directory).includes('sea.mp4'), 'the first file')
    client.destroy()
    await eventually(() => readdirSync(directory).length === 0, 'the end')
  })

  test('a malformed form leaves nothing either', async (t2) => {
    const directory = temporaryDirectory(t2)
    const body = multipart({ files: { video: file({ saveTo: directory }) } })
    const { connect } = await serve(t2, (server) => server.mapPost('/', { body, ...OPEN }, () => assert.fail('handled')))
    const form = encodeForm([video(), title])
    const response = await (await connect()).post('/', form.subarray(0, form.length - 8), FORM_FIELD).message()
    assert.equal(response.status, 400)
    assert.deepEqual(readdirSync(directory), [])
  })
})

describe('a store of your own', () => {
  interface Kept {
    readonly name: string | null
    readonly bytes: number
  }
  class Store {
    readonly kept: Kept[] = []
    readonly discarded: Kept[] = []
    async save({ fileName: name }: { readonly fileName: string | null }, content: Readable): Promise<Kept> {
      let bytes = 0
      for await (const piece of content) bytes += (piece as Buffer).length
      if (name === 'broken') throw new Error('the store is full')
      this.kept.push({ name, bytes })
      return { name, bytes }
    }
    async discard(one: Kept): Promise<void> {
      this.discarded.push(one)
    }
  }
  const send = async (store: Store, parts: readonly FormPart[]): Promise<{ status: number; text: string }> => {
    const server = new HttpServer({ logger: null })
    const body = multipart({ fields: { title: t.string }, files: { video: file({ saveTo: store, count: 2 }) } })
    server.mapPost('/', { body, ...OPEN }, ({ body: { files } }) => files.video.map(({ name, bytes }) => `${name} ${bytes}`))
    const response = await server.inject({
      method: 'POST',
      url: '/',
      body: encodeForm(parts),
      headers: { 'Content-Type': FORM_FIELD.slice(14).trim() },
    })
    return { status: response.status, text: response.text() }
  }

  test('the handler gets what it has made', async () => {
    const store = new Store()
    assert.deepEqual(await send(store, [video('12', 'a'), title, video('345', 'b')]), { status: 200, text: '["a 2","b 3"]' })
    assert.deepEqual(store.discarded, [])
  })

  test('what it has kept is discarded when the form is refused, and only that', async () => {
    const store = new Store()
    assert.equal((await send(store, [video('12', 'a'), video('345', 'b')])).status, 400)
    assert.deepEqual(store.discarded, store.kept)
    const other = new Store()
    assert.equal((await send(other, [video('12', 'a'), title, video('345', 'broken')])).status, 500)
    assert.deepEqual([other.kept, other.discarded], [[{ name: 'a', bytes: 2 }], [{ name: 'a', bytes: 2 }]])
  })

  test('a discard that fails is a warning, and the client is told what was wrong first', async (t2) => {
    const warned = gate<Error>()
    const listen = (warning: Error): void => {
      if (warning.message === 'no access') warned.open(warning)
    }
    process.on('warning', listen)
    t2.after(() => process.off('warning', listen))
    const store = new Store()
    store.discard = () => Promise.reject(new Error('no access'))
    assert.equal((await send(store, [video('12', 'a')])).status, 400)
    await warned.promise
  })

  test('it runs in the AsyncLocalStorage of the request, and may check the content itself', async (t2) => {
    const directory = temporaryDirectory(t2)
    const storage = new AsyncLocalStorage<string>()
    const seen: unknown[] = []
    const store = {
      save(info: { readonly fileName: string | null }, content: Readable) {
        seen.push(storage.getStore())
        return saveTo(directory, info, content, { hash: 'sha1' })
      },
      discard: () => {},
    }
    const server = new HttpServer({ logger: null }).use((_, next) => storage.run('mine', next))
    server.mapPost(
      '/',
      { body: multipart({ files: { video: file({ saveTo: store }) } }), ...OPEN },
      ({ body: { files } }) => files.video.hash,
    )
    const headers = { 'Content-Type': FORM_FIELD.slice(14).trim() }
    assert.match((await server.inject({ method: 'POST', url: '/', body: encodeForm([video('x')]), headers })).text(), /^[0-9a-f]{40}$/)
    assert.deepEqual(seen, ['mine'])
  })

  test('what is neither a directory nor a store is an error', () => {
    for (const wrong of ['', {}, { save() {} }, 7, () => {}])
      assert.throws(() => file({ saveTo: wrong as never }), {
        code: 'WEIR_OPTION_INVALID',
        message: /saveTo is .*neither a directory nor an object with save/,
      })
  })
})
