// file.data.copyTo: every call writes the whole file, whatever was read or written before.

import assert from 'node:assert/strict'
import { createWriteStream, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, test } from 'node:test'

import { type HttpRequest, HttpServer, type UploadedFile } from '../../src/index.ts'
import { encodeForm, FORM_FIELD, patternBytes } from '../support/forms.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const SIZES = [100_000, 0, 5]
const FORM = encodeForm(SIZES.map((size, i) => ({ name: 'f', fileName: `${i}.bin`, content: patternBytes(size) })))

/** Runs `look` on the files of a form, inside a handler. */
async function withFiles<T>(look: (files: readonly UploadedFile[], request: HttpRequest) => Promise<T>): Promise<T> {
  const server = new HttpServer({ logger: null })
  let result: Promise<T> | undefined
  server.mapPost('/', async (_, { request }) => {
    const form = await request.bodyMultipart()
    result = look(form!.files, request)
    await result.catch(() => {})
  })
  const headers = { 'Content-Type': FORM_FIELD.slice('Content-Type: '.length).trim() }
  await server.inject({ method: 'POST', url: '/', headers, body: FORM })
  return result!
}

/** A slow target. */
class Target extends Writable {
  readonly taken: Buffer[] = []
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.taken.push(chunk)
    setImmediate(done)
  }
  get bytes(): Buffer {
    return Buffer.concat(this.taken)
  }
}

describe('copyTo', () => {
  test('each file of a loop is written completely to its own target', async (t) => {
    const directory = temporaryDirectory(t)
    await withFiles(async (files) => {
      for (const file of files) await file.data.copyTo(createWriteStream(join(directory, file.fileName!)))
    })
    for (const [i, size] of SIZES.entries()) assert.ok(readFileSync(join(directory, `${i}.bin`)).equals(patternBytes(size)))
  })

  test('with { end: false } all files of a loop go into one target, which stays open', async () => {
    const target = new Target()
    await withFiles(async (files) => {
      for (const file of files) await file.data.copyTo(target, { end: false })
    })
    assert.equal(target.writableEnded, false)
    target.end()
    await new Promise((resolve) => target.on('finish', resolve))
    assert.ok(target.bytes.equals(Buffer.concat(SIZES.map((size) => patternBytes(size)))))
  })

  test('a target that has ended is refused: nothing is lost silently', async () => {
    const refused = { code: 'WEIR_OPTION_INVALID', message: /copyTo\(\): the target has ended: .*\{ end: false \}/ }
    await withFiles(async ([first, , last]) => {
      const target = new Target()
      await first!.data.copyTo(target)
      await assert.rejects(last!.data.copyTo(target), refused)
      await assert.rejects(last!.data.copyTo(new Target().destroy()), refused)
      assert.ok(target.bytes.equals(patternBytes(100_000)))
    })
  })

  test('a second call writes the file again, also at the same time', async () => {
    const targets = [new Target(), new Target(), new Target(), new Target()]
    await withFiles(async ([file]) => {
      await file!.data.copyTo(targets[0]!)
      await file!.data.copyTo(targets[1]!)
      await Promise.all([file!.data.copyTo(targets[2]!), file!.data.copyTo(targets[3]!)])
    })
    for (const target of targets) {
      assert.ok(target.writableFinished)
      assert.ok(target.bytes.equals(patternBytes(100_000)))
    }
  })

  test('the whole file is written after the stream was read, partly read, or closed', async () => {
    const targets = [new Target(), new Target(), new Target()]
    await withFiles(async ([file, , small]) => {
      await buffer(file!.data)
      await file!.data.copyTo(targets[0]!)
      small!.data.read(2)
      await small!.data.copyTo(targets[1]!)
      small!.data.destroy()
      await small!.data.copyTo(targets[2]!)
    })
    assert.ok(targets[0]!.bytes.equals(patternBytes(100_000)))
    for (const target of targets.slice(1)) assert.ok(target.bytes.equals(patternBytes(5)))
  })

  test('it does not read the stream: that can still be read once', async () => {
    const read = await withFiles(async ([file]) => {
      await file!.data.copyTo(new Target())
      return buffer(file!.data)
    })
    assert.ok(read.equals(patternBytes(100_000)))
  })

  test('it rejects with the error of the target', async () => {
    const target = new Writable({ write: (_chunk, _encoding, done) => done(new Error('the disk is full')) })
    await withFiles(([file]) => assert.rejects(file!.data.copyTo(target), /the disk is full/))
  })

  test('an option that does not exist is refused', async () => {
    const options = { ends: false } as { end?: boolean }
    await withFiles(([file]) =>
      assert.rejects(file!.data.copyTo(new Target(), options), { code: 'WEIR_OPTION_INVALID', message: /"ends"/ }),
    )
  })
})
