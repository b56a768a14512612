// saveTo: which name is checked, other readers of a file that is being saved, and progress.

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { describe, test } from 'node:test'

import { type SavePolicy, saveTo, type WeirError } from '../../src/index.ts'
import { encodeForm, FORM_FIELD, patternBytes } from '../support/forms.ts'
import { inBothReadModes } from '../support/serving.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const FILE = patternBytes(1_000_000)

describe('extensions check the name that the client sent', () => {
  const rows: [client: string | null, policy: SavePolicy, savedAs: string | null][] = [
    ['evil.exe', { fileName: 'mine.png', extensions: ['.png'] }, null],
    ['photo.png', { fileName: 'mine.jpg', extensions: ['.png'] }, 'mine.jpg'],
    ['photo.PNG', { fileName: 'no-extension', extensions: ['png'] }, 'no-extension'],
    ['photo.png', { fileName: 'mine.jpg', extensions: ['.jpg'] }, null],
    ['a/../photo.png', { fileName: '7', extensions: ['.png'] }, '7'],
    [null, { fileName: 'mine.png', extensions: ['.png'] }, null],
    ['photo.png', { extensions: ['.png'] }, 'photo.png'],
  ]
  for (const [fileName, policy, savedAs] of rows) {
    test(`${fileName}, saved as ${policy.fileName ?? 'it is called'}, where ${policy.extensions} is allowed`, async (t) => {
      const directory = temporaryDirectory(t)
      const saving = saveTo(directory, { fileName }, Buffer.from('x'), policy)
      if (savedAs === null) await assert.rejects(saving, { code: 'WEIR_FILE_EXTENSION' })
      else assert.equal((await saving).fileName, savedAs)
      assert.deepEqual(readdirSync(directory), savedAs === null ? [] : [savedAs])
    })
  }
})

inBothReadModes('a file that is being saved has one reader', (serve) => {
  type Read = (content: Readable, save: () => Promise<unknown>) => unknown
  const BESIDE =
    /^a body stream can be read only once: saveTo\(\): something else reads it, such as a "data" listener or pipe\(\); .* onProgress$/
  const READ = /^a body stream can be read only once: saveTo\(\): some of it has already been read: save it first$/
  const TAKEN =
    /^a body stream can be read only once: content\.on\('(?:data|readable)'\): saveTo\(\) reads the bytes of this file; .* onProgress /
  const SAVED = /^a body stream can be read only once: saveTo\(\): the file is already being saved: use what the first call returns$/
  const rows: [what: string, when: 'before' | 'right after', read: Read, message: RegExp][] = [
    ["on('data')", 'before', (content) => content.on('data', () => {}), BESIDE],
    ["on('readable')", 'before', (content) => content.on('readable', () => {}), BESIDE],
    ['pipe()', 'before', (content) => content.pipe(new PassThrough().resume()), BESIDE],
    ['resume()', 'before', (content) => content.resume(), BESIDE],
    ["on('data')", 'right after', (content) => content.on('data', () => {}), TAKEN],
    ["once('data')", 'right after', (content) => content.once('data', () => {}), TAKEN],
    ["on('readable')", 'right after', (content) => content.on('readable', () => {}), TAKEN],
    ['pipe()', 'right after', (content) => content.pipe(new PassThrough()), TAKEN],
    ['resume()', 'right after', (content) => content.resume(), new RegExp(`${BESIDE.source}|${READ.source}`)],
    ['a second saveTo()', 'right after', (_, save) => save(), SAVED],
  ]
  for (const [what, when, read, message] of rows) {
    test(`${what} ${when} is refused with its reason, and no part is saved`, async (t) => {
      const directory = temporaryDirectory(t)
      const { connect } = await serve(t, (server) =>
        server.mapPost('/', async (_, { request }) => {
          const jobs: Promise<unknown>[] = []
          const outcome = await request
            .bodyMultipartStream({
              async onFile(info, content) {
                const save = (): Promise<unknown> => {
                  const saving = saveTo(directory, info, content)
                  jobs.push(saving)
                  return saving
                }
                if (when === 'before') read(content, save)
                const saving = save()
                if (when === 'right after') await read(content, save)
                await saving
              },
            })
            .catch((error: WeirError) => error)
          await Promise.allSettled(jobs)
          return outcome instanceof Error ? { code: (outcome as WeirError).code, message: outcome.message } : { outcome }
        }),
      )
      const form = encodeForm([{ name: 'f', fileName: 'f.bin', content: FILE }])
      const response = (await (await connect()).post('/', form, FORM_FIELD).message()).json() as { code: string; message: string }
      assert.equal(response.code, 'WEIR_BODY_ALREADY_READ')
      assert.match(response.message, message)
      for (const name of readdirSync(directory)) assert.ok(readFileSync(join(directory, name)).equals(FILE))
    })
  }

  test('listening for its end, and pausing it before, do not count as reading', async (t) => {
    const directory = temporaryDirectory(t)
    const { connect } = await serve(t, (server) =>
      server.mapPost('/', async (_, { request }) => {
        const log: unknown[] = []
        await request.bodyMultipartStream({
          async onFile(info, content) {
            content.pause()
            content.on('end', () => log.push('end'))
            const saving = saveTo(directory, info, content)
            content.on('close', () => log.push('close'))
            log.push((await saving).size)
          },
        })
        return log
      }),
    )
    const form = encodeForm([{ name: 'f', fileName: 'f.bin', content: FILE }])
    const log = (await (await connect()).post('/', form, FORM_FIELD).message()).json() as unknown[]
    assert.ok(log.includes(FILE.length), JSON.stringify(log))
    assert.ok(readFileSync(join(directory, 'f.bin')).equals(FILE))
  })

  test('a file that was skipped is refused with that reason', async (t) => {
    const directory = temporaryDirectory(t)
    const { connect } = await serve(t, (server) =>
      server.mapPost('/', async (_, { request }) => {
        let file: Readable | undefined
        await request.bodyMultipartStream({ onFile: (_info, content) => void (file = content) })
        return saveTo(directory, { fileName: 'x' }, file!).catch((error: Error) => error.message)
      }),
    )
    const form = encodeForm([{ name: 'f', fileName: 'f.bin', content: FILE }])
    const message = (await (await connect()).post('/', form, FORM_FIELD).message()).text
    assert.match(message, /once: saveTo\(\): onFile returned before the file was read, so it was skipped$/)
  })
})

describe('any other stream with a second reader', () => {
  for (const [what, read] of [
    ["a 'data' listener", (content) => void content.on('data', () => {})],
    ['a pipe', (content) => void content.pipe(new PassThrough())],
    ['resume()', (content) => void content.resume()],
  ] as [string, (content: Readable) => void][]) {
    test(`${what}, before and right after, is refused and leaves nothing`, async (t) => {
      const directory = temporaryDirectory(t)
      for (const isFirst of [true, false]) {
        const content = Readable.from([FILE])
        if (isFirst) read(content)
        const saving = saveTo(directory, { fileName: 'x' }, content)
        if (!isFirst) read(content)
        await assert.rejects(saving, { code: 'WEIR_BODY_ALREADY_READ' })
      }
      assert.deepEqual(readdirSync(directory), [])
    })
  }
})

inBothReadModes('onProgress', (serve) => {
  test('reports how many bytes have arrived, in the context of the handler', async (t) => {
    const directory = temporaryDirectory(t)
    const storage = new AsyncLocalStorage<string>()
    const { connect } = await serve(t, (server) =>
      server.mapPost('/', (_, { request }) =>
        storage.run('mine', async () => {
          const seen: number[] = []
          const stores = new Set<unknown>()
          await request.bodyMultipartStream({
            async onFile(info, content) {
              await saveTo(directory, info, content, {
                onProgress(bytes) {
                  stores.add(storage.getStore())
                  seen.push(bytes)
                },
              })
            },
          })
          return { seen, stores: [...stores] }
        }),
      ),
    )
    const form = encodeForm([{ name: 'f', fileName: 'f.bin', content: FILE }])
    const { seen, stores } = (await (await connect()).post('/', form, FORM_FIELD).message()).json() as { seen: number[]; stores: unknown[] }
    assert.deepEqual([seen.at(-1), stores], [FILE.length, ['mine']])
    assert.ok(seen.length > 1 && seen.every((bytes, i) => bytes > (seen[i - 1] ?? 0)), String(seen))
  })
})

describe('onProgress', () => {
  test('for bytes and any stream; never for an empty file, nor above maxSize', async (t) => {
    const directory = temporaryDirectory(t)
    const seen = async (content: Readable | Uint8Array, policy: SavePolicy = {}): Promise<number[]> => {
      const bytes: number[] = []
      const onProgress = (count: number): void => void bytes.push(count)
      await saveTo(directory, { fileName: 'x' }, content, { ...policy, onProgress }).catch(() => {})
      return bytes
    }
    assert.equal((await seen(FILE)).at(-1), FILE.length)
    assert.deepEqual(await seen(Readable.from([Buffer.alloc(3), Buffer.alloc(4)])), [3, 7])
    assert.deepEqual(await seen(Buffer.alloc(0)), [])
    assert.deepEqual(await seen(Readable.from([Buffer.alloc(3), Buffer.alloc(4)]), { maxSize: 5 }), [3])
  })

  test('what it throws ends the save, and nothing is left', async (t) => {
    const directory = temporaryDirectory(t)
    const onProgress = (): never => {
      throw new Error('cancelled')
    }
    await assert.rejects(saveTo(directory, { fileName: 'x' }, Readable.from([FILE]), { onProgress }), /cancelled/)
    assert.deepEqual(readdirSync(directory), [])
  })

  test('anything but a function is refused', async (t) => {
    const onProgress = 'yes' as unknown as () => void
    const refused = { code: 'WEIR_OPTION_INVALID', message: /onProgress is the string "yes", not a function/ }
    await assert.rejects(saveTo(temporaryDirectory(t), { fileName: 'x' }, FILE, { onProgress }), refused)
  })
})

describe('types', () => {
  const PNG = Buffer.from('\x89PNG\r\n\x1a\n and the rest', 'latin1')

  test('are those that the bytes show, whatever the file is called and however it arrives', async (t) => {
    const directory = temporaryDirectory(t)
    const types = ['image/*', 'application/pdf']
    for (const [content, type] of [
      [PNG, 'image/png'],
      [Readable.from([PNG.subarray(0, 3), PNG.subarray(3)]), 'image/png'],
      [Buffer.from('%PDF-1.7'), 'application/pdf'],
    ] as const)
      assert.equal((await saveTo(directory, { fileName: 'a.txt' }, content, { types })).detectedType, type)
    assert.equal(readdirSync(directory).length, 3)
    for (const content of [Buffer.from('<svg>'), Buffer.from('GIF8'), Buffer.alloc(0), Buffer.alloc(100)])
      await assert.rejects(saveTo(directory, { fileName: 'a.png' }, content, { types }), {
        code: 'WEIR_FILE_MAGIC',
        status: 415,
        message: /something else; accepted: image\/\*, application\/pdf$/,
      })
    await assert.rejects(saveTo(directory, { fileName: 'a.pdf' }, PNG, { types: ['application/pdf'] }), { message: /image\/png; accepted/ })
    assert.equal(readdirSync(directory).length, 3)
  })

  test('that no bytes can show are errors of the program', async (t) => {
    const directory = temporaryDirectory(t)
    for (const types of [['text/csv'], ['image/png', 'image/svg+xml'], ['application/*'], ['*/*']])
      await assert.rejects(saveTo(directory, { fileName: 'a' }, PNG, { types }), {
        code: 'WEIR_OPTION_INVALID',
        message: /types: the first bytes of a file cannot tell whether it is /,
      })
    for (const types of ['image/png', ['png']])
      await assert.rejects(saveTo(directory, { fileName: 'a' }, PNG, { types: types as never }), { code: 'WEIR_OPTION_INVALID' })
  })
})
