// saveTo: what ends up in a directory, and what never does.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { describe, test } from 'node:test'

import { FileRefusedError, PayloadTooLargeError, type SavePolicy, saveTo } from '../../src/index.ts'
import { patternBytes } from '../support/forms.ts'
import { smallDisk, temporaryDirectory } from '../support/temporary.ts'

const info = (fileName: string | null): { fileName: string | null } => ({ fileName })

/** The forms that content can have. */
const SOURCES: readonly (readonly [name: string, of: (bytes: Buffer) => Readable | Uint8Array])[] = [
  ['bytes', (bytes) => new Uint8Array(bytes)],
  ['a stream', (bytes) => Readable.from(pieces(bytes, 50_000))],
  ['a stream of one byte at a time', (bytes) => Readable.from(pieces(bytes.subarray(0, 3_000), 1))],
  ['a stream of one large piece', (bytes) => Readable.from([bytes])],
]

function* pieces(bytes: Buffer, size: number): Iterable<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/** A stream that yields `bytes` and then fails. */
function failing(bytes: Buffer, error: Error): Readable {
  return Readable.from(
    (function* () {
      yield* pieces(bytes, 10_000)
      throw error
    })(),
  )
}

for (const [source, of] of SOURCES) {
  describe(`saving ${source}`, () => {
    for (const size of [0, 1, 262_143, 262_144, 262_145, 1_500_000]) {
      test(`${size} bytes are saved completely, with name, size and hash`, async (t) => {
        const directory = temporaryDirectory(t)
        const bytes = patternBytes(size)
        const content = of(bytes)
        const expected = source.includes('one byte') ? bytes.subarray(0, 3_000) : bytes
        const saved = await saveTo(directory, info('a/b/report.pdf'), content, { hash: 'sha256' })
        assert.deepEqual(saved, {
          path: join(directory, 'report.pdf'),
          fileName: 'report.pdf',
          clientName: 'a/b/report.pdf',
          size: expected.length,
          hash: createHash('sha256').update(expected).digest('hex'),
          detectedType: null,
        })
        assert.ok(readFileSync(saved.path).equals(expected))
        assert.deepEqual(readdirSync(directory), ['report.pdf'], 'no temporary file is left')
      })
    }

    test('nothing is overwritten: the name gets a unique suffix before its extension', async (t) => {
      const directory = temporaryDirectory(t)
      writeFileSync(join(directory, 'a.txt'), 'mine')
      const saved = await saveTo(directory, info('a.txt'), of(Buffer.from('theirs')))
      assert.match(saved.fileName, /^a-[0-9a-f]{12}\.txt$/)
      assert.deepEqual([readFileSync(join(directory, 'a.txt'), 'utf8'), readFileSync(saved.path, 'utf8')], ['mine', 'theirs'])
    })

    test('a symbolic link in the way is neither followed nor replaced', async (t) => {
      const directory = temporaryDirectory(t)
      const outside = join(temporaryDirectory(t), 'outside')
      writeFileSync(outside, 'mine')
      symlinkSync(outside, join(directory, 'link.txt'))
      symlinkSync(join(directory, 'nowhere'), join(directory, 'dangling.txt'))
      for (const name of ['link.txt', 'dangling.txt']) {
        const saved = await saveTo(directory, info(name), of(Buffer.from('theirs')))
        assert.notEqual(saved.fileName, name)
        assert.ok(lstatSync(saved.path).isFile())
      }
      assert.equal(readFileSync(outside, 'utf8'), 'mine')
      assert.equal(readlinkSync(join(directory, 'link.txt')), outside)
      assert.deepEqual(
        readdirSync(directory).filter((name) => name === 'nowhere'),
        [],
      )
    })

    test('maxSize: N is allowed, N + 1 is refused by name, and nothing is left', async (t) => {
      const directory = temporaryDirectory(t)
      const bytes = patternBytes(3_000)
      assert.equal((await saveTo(directory, info('fits'), of(bytes), { maxSize: 3_000 })).size, 3_000)
      const expected = { name: 'PayloadTooLargeError', status: 413, limit: 'maxSize', maximum: 2_999 }
      await assert.rejects(saveTo(directory, info('large'), of(bytes), { maxSize: 2_999 }), expected)
      assert.deepEqual(readdirSync(directory), ['fits'])
    })

    const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, ...patternBytes(500)])
    const magics: [what: string, content: Buffer, magic: NonNullable<SavePolicy['magic']>, isAllowed: boolean][] = [
      ['the right first bytes', png, [[0x89, 0x50, 0x4e, 0x47]], true],
      ['one of several', png, [[1], Buffer.from([0x89, 0x50])], true],
      [
        'others',
        png,
        [
          [0x47, 0x49, 0x46],
          [0x89, 0x51],
        ],
        false,
      ],
      ['none that are allowed', png, [], false],
      ['fewer than are required', png.subarray(0, 3), [[0x89, 0x50, 0x4e, 0x47]], false],
      ['exactly those', png.subarray(0, 4), [[0x89, 0x50, 0x4e, 0x47]], true],
      ['nothing at all', Buffer.alloc(0), [[0x89]], false],
      ['what a function accepts', png, (first) => first.length === 64 && first[63] === png[63], true],
      ['what a function refuses', png, () => false, false],
      ['too few, for a function that sees only these', png.subarray(0, 10), (first) => first.length === 10, true],
    ]
    for (const [what, content, magic, isAllowed] of magics) {
      test(`magic: ${what}`, async (t) => {
        const directory = temporaryDirectory(t)
        const saving = saveTo(directory, info('x.png'), of(content), { magic })
        if (isAllowed) assert.equal((await saving).size, content.length)
        else
          await assert.rejects(
            saving,
            (error) => error instanceof FileRefusedError && error.code === 'WEIR_FILE_MAGIC' && error.status === 415,
          )
        assert.deepEqual(readdirSync(directory), isAllowed ? ['x.png'] : [])
      })
    }

    if (source.includes('one byte')) return // too little to fill a disk
    test('a disk that is full: the error of the system, and nothing is left', async (t) => {
      const directory = smallDisk(t, 512)
      if (directory === null) {
        t.skip('needs the right to make a small disk')
        return
      }
      for (let i = 0; i < 3; i++) {
        await assert.rejects(saveTo(directory, info('large'), of(patternBytes(2_000_000))), { code: 'ENOSPC' })
        assert.deepEqual(readdirSync(directory), [])
      }
      const bytes = patternBytes(300_000)
      const { path } = await saveTo(directory, info('small'), of(bytes))
      assert.ok(readFileSync(path).equals(bytes), 'the buffers of failed saves are not mixed up')
    })
  })
}

const extensions: [name: string | null, allowed: string[], savedAs: string | null][] = [
  ['a.png', ['.png'], 'a.png'],
  ['a.PNG', ['.png'], 'a.PNG'],
  ['a.png', ['.PNG'], 'a.png'],
  ['a.jpeg', ['.png', '.jpeg'], 'a.jpeg'],
  ['a.png', ['png'], 'a.png'],
  ['a.png', ['PNG'], 'a.png'],
  ['a.php', ['png'], null],
  ['png', ['png'], null],
  ['a.php.png', ['.png'], 'a.php.png'],
  ['a.png.php', ['.png'], null],
  ['a.png.', ['.png'], 'a.png'],
  ['a.png ', ['.png'], 'a.png'],
  ['a.php\0.png', ['.png'], 'a.php_.png'],
  ['a.png\0.php', ['.png'], null],
  ['a.png/x.php', ['.png'], null],
  ['a.png::$DATA', ['.png'], null],
  ['.png', ['.png'], null],
  ['png', ['.png'], null],
  ['a', ['.png'], null],
  ['a', [''], 'a'],
  [null, ['.png'], null],
  ['a.png', [], null],
]
for (const [name, allowed, savedAs] of extensions) {
  test(`extensions: ${JSON.stringify(name)} is ${savedAs === null ? 'refused' : 'accepted'} if ${JSON.stringify(allowed)} is allowed`, async (t) => {
    const directory = temporaryDirectory(t)
    const content = Readable.from([Buffer.from('x')])
    const saving = saveTo(directory, info(name), content, { extensions: allowed })
    if (savedAs !== null) assert.equal((await saving).fileName, savedAs)
    else {
      await assert.rejects(
        saving,
        (error) => error instanceof FileRefusedError && error.code === 'WEIR_FILE_EXTENSION' && error.status === 415,
      )
      assert.ok(content.destroyed, 'the rest does not have to wait')
    }
    assert.deepEqual(readdirSync(directory), savedAs === null ? [] : [savedAs])
  })
}

test('hostile names stay in their directory', async (t) => {
  const parent = temporaryDirectory(t)
  const directory = join(parent, 'uploads')
  mkdirSync(directory)
  for (const name of ['../evil', '..\\evil', '/etc/evil', 'a\0b', '', '..', null, `${'x'.repeat(5_000)}.txt`, '.htaccess']) {
    const saved = await saveTo(directory, info(name), Buffer.from('x'))
    assert.equal(saved.path, join(directory, saved.fileName))
    assert.ok(statSync(saved.path).isFile())
  }
  assert.deepEqual(readdirSync(parent), ['uploads'])
  assert.equal(readdirSync(directory).length, 9)
  assert.deepEqual(
    readdirSync(directory).filter((name) => name.startsWith('.')),
    [],
  )
})

for (const extensions of ['.png', ['.tar.gz'], ['.'], ['*.png'], ['a/b'], [5], [null]] as never[]) {
  test(`extensions: ${JSON.stringify(extensions)} is an invalid option, whatever the name`, async (t) => {
    const directory = temporaryDirectory(t)
    const content = Readable.from([Buffer.from('x')])
    await assert.rejects(saveTo(directory, info('a.png'), content, { extensions }), { code: 'WEIR_OPTION_INVALID', message: /extensions/ })
    assert.deepEqual([readdirSync(directory), content.destroyed], [[], true])
  })
}

test('policy.fileName replaces the client’s, and is made safe as well', async (t) => {
  const directory = temporaryDirectory(t)
  const saved = await saveTo(directory, info('x.exe'), Buffer.from('x'), { fileName: '../mine.txt' })
  assert.equal(saved.path, join(directory, 'mine.txt'))
})

test('mode is that of the new file', { skip: process.platform === 'win32' }, async (t) => {
  const { path } = await saveTo(temporaryDirectory(t), info('x'), Buffer.from('x'), { mode: 0o600 })
  assert.equal(statSync(path).mode & 0o777, 0o600)
})

test('sync saves as well, and without the option there is no hash', async (t) => {
  const saved = await saveTo(temporaryDirectory(t), info('x'), Buffer.from('x'), { sync: true })
  assert.deepEqual([readFileSync(saved.path, 'utf8'), saved.hash], ['x', null])
})

test('large bytes and large pieces of a stream are not copied as a whole', async (t) => {
  const bytes = Buffer.alloc(64 * 1024 * 1024, 'x')
  for (const content of [bytes, Readable.from([bytes])]) {
    const before = process.memoryUsage().arrayBuffers
    let most = 0
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage().arrayBuffers - before)
    }, 1)
    const saving = saveTo(temporaryDirectory(t), info('a.bin'), content)
    await new Promise((resolve) => setImmediate(resolve))
    most = Math.max(most, process.memoryUsage().arrayBuffers - before)
    await saving
    clearInterval(watch)
    assert.ok(most < bytes.length / 8, `${most} bytes more`)
  }
})

test('a hundred files with one name at the same time become a hundred files', async (t) => {
  const directory = temporaryDirectory(t)
  const texts = Array.from({ length: 100 }, (_, i) => `file ${i}`)
  const saved = await Promise.all(texts.map((text) => saveTo(directory, info('same.txt'), Readable.from([Buffer.from(text)]))))
  assert.equal(new Set(saved.map(({ path }) => path)).size, 100)
  assert.deepEqual(
    saved.map(({ path }) => readFileSync(path, 'utf8')),
    texts,
  )
  assert.equal(readdirSync(directory).length, 100)
})

describe('a failed save leaves nothing behind and states the reason', () => {
  test('a stream that fails', async (t) => {
    const directory = temporaryDirectory(t)
    const error = new Error('cut short')
    for (const size of [0, 100, 1_000_000]) await assert.rejects(saveTo(directory, info('x'), failing(patternBytes(size), error)), error)
    assert.deepEqual(readdirSync(directory), [])
  })

  test('a stream that is destroyed without an error', async (t) => {
    const directory = temporaryDirectory(t)
    const content = new PassThrough()
    content.write('the beginning')
    const saving = saveTo(directory, info('x'), content)
    setImmediate(() => content.destroy())
    await assert.rejects(saving, { code: 'ERR_STREAM_PREMATURE_CLOSE' })
    assert.deepEqual(readdirSync(directory), [])
  })

  test('a stream that was destroyed before', async (t) => {
    const directory = temporaryDirectory(t)
    const [silent, failed] = [new PassThrough(), new PassThrough().on('error', () => {})]
    const error = new Error('before')
    silent.destroy()
    failed.destroy(error)
    await assert.rejects(saveTo(directory, info('x'), silent), { code: 'ERR_STREAM_PREMATURE_CLOSE' })
    await assert.rejects(saveTo(directory, info('x'), failed), error)
    assert.deepEqual(readdirSync(directory), [])
  })

  test('a stream that has already been read is refused: an empty file would pass for the whole', async (t) => {
    const directory = temporaryDirectory(t)
    const content = Readable.from([Buffer.from('x')])
    await content.toArray()
    await assert.rejects(saveTo(directory, info('x'), content), { code: 'WEIR_BODY_ALREADY_READ' })
    assert.deepEqual(readdirSync(directory), [])
  })

  test('a stream of which something was read is refused: the rest would pass for the whole', async (t) => {
    const directory = temporaryDirectory(t)
    const content = Readable.from([Buffer.from('first'), Buffer.from('second')])
    await once(content, 'readable')
    assert.equal(String(content.read()), 'first')
    await assert.rejects(saveTo(directory, info('x'), content), { code: 'WEIR_BODY_ALREADY_READ' })
    assert.deepEqual(readdirSync(directory), [])
  })

  test('a stream of something other than bytes', async (t) => {
    const directory = temporaryDirectory(t)
    await assert.rejects(saveTo(directory, info('x'), Readable.from([{ no: 'bytes' }])), TypeError)
    assert.deepEqual(readdirSync(directory), [])
  })

  for (const [what, content] of [
    ['null', null],
    ['a Blob', new Blob(['x'])],
    ['a ReadableStream', new Blob(['x']).stream()],
    ['an AsyncGenerator', (async function* () {})()],
  ] as const) {
    test(`content that is ${what}`, async (t) => {
      const directory = temporaryDirectory(t)
      const magic = (): boolean => false
      await assert.rejects(saveTo(directory, info('x'), content as unknown as Readable, { magic }), {
        code: 'WEIR_OPTION_INVALID',
        message: new RegExp(`content is bytes or a Readable, not ${what}$`),
      })
      assert.deepEqual(readdirSync(directory), [])
    })
  }

  test('a directory that does not exist, or is a file', async (t) => {
    const directory = temporaryDirectory(t)
    writeFileSync(join(directory, 'file'), '')
    for (const [name, code] of [
      ['none', 'ENOENT'],
      ['file', 'ENOTDIR'],
    ] as const) {
      const content = Readable.from([Buffer.from('x')])
      await assert.rejects(saveTo(join(directory, name), info('x'), content), {
        code,
        message: /^saveTo\(\): .* is not an existing directory; create it/,
      })
      assert.ok(content.destroyed)
    }
    assert.deepEqual(readdirSync(directory), ['file'])
  })

  test('a directory that may not be written', { skip: process.platform === 'win32' || process.getuid?.() === 0 }, async (t) => {
    const directory = temporaryDirectory(t)
    chmodSync(directory, 0o500)
    await assert.rejects(saveTo(directory, info('x'), Buffer.from('x')), { code: 'EACCES' })
  })

  test('a hash that does not exist', async (t) => {
    const directory = temporaryDirectory(t)
    await assert.rejects(saveTo(directory, info('x'), Buffer.from('x'), { hash: 'sha0.5' }), Error)
    assert.deepEqual(readdirSync(directory), [])
  })

  test('a magic function that throws', async (t) => {
    const directory = temporaryDirectory(t)
    const error = new Error('magic')
    const magic = (): never => {
      throw error
    }
    for (const [, of] of SOURCES) await assert.rejects(saveTo(directory, info('x'), of(patternBytes(100)), { magic }), error)
    assert.deepEqual(readdirSync(directory), [])
  })

  test('a refusal reads no further', async (t) => {
    let given = 0
    const content = Readable.from(
      (function* () {
        for (; given < 1_000; given++) yield Buffer.alloc(100_000)
      })(),
    )
    await assert.rejects(saveTo(temporaryDirectory(t), info('x'), content, { maxSize: 150_000 }), PayloadTooLargeError)
    assert.ok(given < 50, `${given} pieces`)
    assert.ok(content.destroyed)
  })
})
