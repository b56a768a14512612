import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { test } from 'node:test'

import { rules } from '../../base/option-rules.ts'
import { PartStream } from '../multipart/part-stream.ts'
import { type CheckedContent, saveContent } from './checked-content.ts'
import { CONTENT_RULES, type ContentPolicy } from './content-policy.ts'

const RULES = rules<ContentPolicy>('saveElsewhere()')(CONTENT_RULES)
const INFO = { fileName: '../a/Cat.PNG' }

async function textOf(content: CheckedContent): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of content) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}

function codeOf(code: string): (error: unknown) => boolean {
  return (error) => (error as { code?: string }).code === code
}

/** The same text as bytes, as a Readable, and as the file of a form that arrives in pieces. */
function contentsOf(text: string): Record<string, () => Readable | Uint8Array> {
  return {
    bytes: () => Buffer.from(text),
    readable: () => Readable.from([text.slice(0, 2), Buffer.from(text.slice(2))]),
    part: () => {
      const part = new PartStream(() => {})
      const bytes = Buffer.from(text)
      setImmediate(() => {
        for (let at = 0; at < bytes.length; at++) {
          const memory = Buffer.from(bytes.subarray(at, at + 1))
          part.give(memory, 0, 1)
          memory.fill(0) // the engine uses it again
        }
        part.finish()
      })
      return part
    },
  }
}

for (const [kind, content] of Object.entries(contentsOf('some content'))) {
  test(`the bytes of a file reach the writer, with its name, size and digest: ${kind}`, async () => {
    const policy: ContentPolicy = { hash: 'sha1', extensions: ['.png'], magic: [[0x73, 0x6f]] }
    const saved = await saveContent(RULES, INFO, content(), policy, async (file) => ({
      name: file.fileName,
      text: await textOf(file),
      size: file.received,
      digest: file.digest(),
    }))
    const digest = createHash('sha1').update('some content').digest('hex')
    assert.deepEqual(saved, { name: 'Cat.PNG', text: 'some content', size: 12, digest })
  })

  test(`a file that the policy refuses is not saved, and its content is destroyed: ${kind}`, async () => {
    const refusals: readonly [code: string, policy: ContentPolicy][] = [
      ['WEIR_BODY_TOO_LARGE', { maxSize: 11 }],
      ['WEIR_FILE_EXTENSION', { extensions: ['.gif'] }],
      ['WEIR_FILE_MAGIC', { magic: [[0x47]] }],
      ['WEIR_OPTION_INVALID', { hash: 'none' }],
      ['WEIR_OPTION_INVALID', null as never],
    ]
    for (const [code, policy] of refusals) {
      const given = content()
      let isComplete = false
      const saving = saveContent(RULES, INFO, given, policy, async (file) => {
        await textOf(file)
        isComplete = true
      })
      await assert.rejects(saving, codeOf(code), code)
      assert.equal(isComplete, false, code)
      if (given instanceof Readable) assert.ok(given.destroyed, code)
    }
  })

  test(`when the storage fails, its error is the reason: ${kind}`, async () => {
    const given = content()
    const saving = saveContent(RULES, INFO, given, {}, async (file) => {
      file.stop()
      throw new Error('the disk is full')
    })
    await assert.rejects(saving, /the disk is full/)
    if (given instanceof Readable) assert.ok(given.destroyed)
  })
}

test('nothing is read of a file before the writer reads', async () => {
  let isRead = false
  const content = new Readable({
    read() {
      isRead = true
      this.push(null)
    },
  })
  await saveContent(RULES, INFO, content, {}, async (file) => {
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(isRead, false)
    await textOf(file)
    assert.equal(isRead, true)
  })
})

test('a file of a form is reserved at once', async () => {
  const part = new PartStream(() => {})
  const saving = saveContent(RULES, INFO, part, {}, textOf)
  part.skipUnlessRead()
  assert.throws(() => part.on('data', () => {}), codeOf('WEIR_BODY_ALREADY_READ'))
  part.finish()
  assert.equal(await saving, '')
})

test('a form that is aborted is the reason, whether the promise is awaited at once or not', async () => {
  const part = new PartStream(() => {})
  const saving = saveContent(RULES, INFO, part, {}, textOf)
  part.abort(new Error('the client is gone'))
  await new Promise((resolve) => setImmediate(resolve)) // an unhandled rejection would end the process here
  await assert.rejects(saving, /the client is gone/)
  await assert.rejects(saveContent(RULES, INFO, part, {}, textOf), codeOf('WEIR_BODY_ALREADY_READ'))
})

test('refuses what is no content, and content that something else reads', async () => {
  for (const wrong of [null, 'text', {}])
    await assert.rejects(saveContent(RULES, INFO, wrong as never, {}, textOf), codeOf('WEIR_OPTION_INVALID'))
  const read = Readable.from(['a'])
  read.on('data', () => {})
  await assert.rejects(saveContent(RULES, INFO, read, {}, textOf), codeOf('WEIR_BODY_ALREADY_READ'))
})
