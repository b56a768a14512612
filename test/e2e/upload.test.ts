// Uploads with curl and undici, to both upload routes of the demo.

import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describe, test } from 'node:test'

import { FormData, fetch } from 'undici'

import { curl, noCurl } from '../../packages/weirjs/test/support/curl.ts'
import { onHandled, startDemo, temporaryFolder } from '../../packages/weirjs/test/support/demo.ts'
import { gate, within } from '../../packages/weirjs/test/support/serving.ts'

const MIB = 1024 * 1024
const IN_MEMORY = '/api/user/upload'
const STREAMING = '/api/user/upload-stream'

interface Uploaded {
  readonly ok: true
  readonly title: string | null
  readonly uploadDir: string
  readonly files: readonly { field: string; originalName: string; savedAs: string; size: number; contentType: string }[]
}

/** Bytes that look like delimiters, line ends and text in many encodings, and random ones. */
const awkward = Buffer.concat([Buffer.from('\r\n--\r\n--boundary--\r\n\0\r\n\r\n'), randomBytes(300_000), Buffer.from('\r\n-')])

describe('curl -F', { skip: noCurl }, () => {
  test('files are streamed to the folder byte for byte and listed in the response, with a title field in any case', async (t) => {
    const { origin, uploadDir } = await startDemo(t)
    const sources = await temporaryFolder(t)
    const picture = join(sources, 'picture.png')
    const notes = join(sources, 'Grüße an alle.txt')
    await writeFile(picture, awkward)
    await writeFile(notes, 'Grüße\r\n')
    const form = ['-F', `first=@${picture}`, '-F', 'TITLE=Zwölf Boxkämpfer', '-F', `second=@${notes};type=text/x-notes`]
    const { response } = await curl([...form, origin + STREAMING])
    assert.equal(response.status, 200)
    assert.equal(response.header('content-type'), 'application/json')
    assert.deepEqual(JSON.parse(response.text), {
      ok: true,
      title: 'Zwölf Boxkämpfer',
      uploadDir,
      files: [
        { field: 'first', originalName: 'picture.png', savedAs: 'picture.png', size: awkward.length, contentType: 'image/png' },
        { field: 'second', originalName: 'Grüße an alle.txt', savedAs: 'Grüße an alle.txt', size: 8 + 1, contentType: 'text/x-notes' },
      ],
    })
    assert.deepEqual((await readdir(uploadDir)).sort(), ['Grüße an alle.txt', 'picture.png'])
    assert.ok((await readFile(join(uploadDir, 'picture.png'))).equals(awkward))
  })

  test('without a title the response has null, and without files an empty list', async (t) => {
    const { origin, uploadDir } = await startDemo(t)
    const { response } = await curl(['-F', 'subtitle=none', origin + STREAMING])
    assert.deepEqual(JSON.parse(response.text), { ok: true, title: null, uploadDir, files: [] })
  })

  test('a file that is sent twice is saved as two files', async (t) => {
    const { origin, uploadDir } = await startDemo(t)
    const names: string[] = []
    for (const content of ['first', 'second']) {
      const { response } = await curl(['-F', `file=${content};filename=note.txt`, origin + STREAMING])
      names.push((JSON.parse(response.text) as Uploaded).files[0]!.savedAs)
    }
    assert.equal(names[0], 'note.txt')
    assert.match(names[1]!, /^note-.+\.txt$/)
    assert.deepEqual(await Promise.all(names.map((name) => readFile(join(uploadDir, name), 'utf8'))), ['first', 'second'])
  })

  test('a name with a path is saved in the folder, on both routes', async (t) => {
    for (const path of [IN_MEMORY, STREAMING]) {
      const { origin, uploadDir } = await startDemo(t)
      for (const name of ['../../up.txt', '/etc/absolute.txt', 'C:\\\\temp\\\\drive.txt', '..']) {
        await curl(['-F', `file=x;filename="${name}"`, origin + path])
      }
      const files = await readdir(uploadDir)
      const expected = ['absolute.txt', 'drive.txt', 'up.txt', ...(path === STREAMING ? ['upload.bin'] : [])]
      assert.deepEqual(files.sort(), expected, path)
    }
  })

  test('64 MiB without a Content-Length arrive complete', async (t) => {
    const { origin, uploadDir } = await startDemo(t)
    const large = Buffer.alloc(64 * MIB, awkward)
    const form = ['-H', 'Transfer-Encoding: chunked', '-F', 'file=@-;filename=large.bin']
    const { response } = await curl([...form, origin + STREAMING], large)
    const { files } = JSON.parse(response.text) as Uploaded
    assert.equal(files[0]!.size, large.length)
    const hash = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
    assert.equal(hash(await readFile(join(uploadDir, 'large.bin'))), hash(large))
  })

  test('more than 1 GiB is refused by the head alone', async (t) => {
    const { origin } = await startDemo(t)
    const sparse = join(await temporaryFolder(t), 'sparse.bin')
    await writeFile(sparse, '')
    await truncate(sparse, 1024 * MIB + 1)
    const upload = ['-H', 'Expect: 100-continue', '-F', `file=@${sparse}`, '--write-out', '%{stderr}%{size_upload}']
    const { response, stderr } = await curl([...upload, origin + STREAMING])
    assert.equal(response.status, 413)
    assert.equal(stderr, '0', 'no byte of the body was sent')
  })

  test('an invalid form gets a 400 and leaves no file', async (t) => {
    const { origin, uploadDir } = await startDemo(t)
    const whole = '--B\r\nContent-Disposition: form-data; name="a"; filename="whole.txt"\r\n\r\nwhole\r\n'
    const type = ['-H', 'Content-Type: multipart/form-data; boundary=B']
    const invalid: [string, string[]][] = [
      ['a url-encoded form', ['--data', 'title=x']],
      ['no boundary', ['-H', 'Content-Type: multipart/form-data', '--data-binary', `${whole}--B--\r\n`]],
      ['nothing', [...type, '--data-binary', '']],
      ['no end', [...type, '--data-binary', whole]],
      ['a file that is cut short', [...type, '--data-binary', `${whole}${whole}`.slice(0, -4)]],
      ['a part without a name', [...type, '--data-binary', `${whole}--B\r\nContent-Type: text/plain\r\n\r\nx\r\n--B--\r\n`]],
    ]
    for (const [what, args] of invalid) {
      const { response } = await curl([...args, origin + STREAMING])
      assert.equal(response.status, 400, what)
      assert.deepEqual(JSON.parse(response.text), { ok: false, error: 'The body is not a valid multipart form.' }, what)
      const inMemory = await curl([...args, origin + IN_MEMORY])
      assert.equal(inMemory.response.status, 400, what)
      assert.equal(inMemory.response.text, 'Send a multipart form with a file.', what)
    }
    assert.deepEqual(await readdir(uploadDir), [])
  })

  test('in memory, small files of the right kinds are saved and listed in the response', async (t) => {
    const { origin, uploadDir } = await startDemo(t)
    const largest = join(await temporaryFolder(t), 'largest.PNG')
    await writeFile(largest, Buffer.alloc(MIB, awkward))
    const { response } = await curl(['-F', 'title=x', '-F', 'a=hello;filename=a.txt', '-F', `b=@${largest}`, origin + IN_MEMORY])
    assert.equal(response.status, 200)
    assert.equal(response.header('content-type'), 'text/plain; charset=utf-8')
    assert.equal(response.text, `Saved a.txt (5 bytes), largest.PNG (1048576 bytes) in ${uploadDir}.`)
    assert.equal(await readFile(join(uploadDir, 'a.txt'), 'utf8'), 'hello')
    assert.ok((await readFile(join(uploadDir, 'largest.PNG'))).equals(Buffer.alloc(MIB, awkward)))
  })

  test('in memory, one file with a wrong extension or one byte too many makes the server refuse all', async (t) => {
    const { origin, uploadDir } = await startDemo(t)
    const tooLarge = join(await temporaryFolder(t), 'large.txt')
    await writeFile(tooLarge, Buffer.alloc(MIB + 1))
    const good = ['-F', 'good=x;filename=good.txt']
    for (const name of ['run.exe', 'page.txt.html', 'png', '.png', 'run.exe. ']) {
      const { response } = await curl([...good, '-F', `bad=x;filename="${name}"`, origin + IN_MEMORY])
      assert.equal(response.status, 415, name)
      assert.equal(response.text, 'Wrong extension: only .gif, .jpeg, .jpg, .png, .txt, .webp.', name)
    }
    const { response } = await curl([...good, '-F', `bad=@${tooLarge}`, origin + IN_MEMORY])
    assert.equal(response.status, 413)
    assert.equal(response.text, 'A file may have at most 1048576 bytes.')
    assert.deepEqual(await readdir(uploadDir), [])
  })

  test('in memory, a folder that cannot be written results in a 500 with the error of the system', async (t) => {
    const missing = join(await temporaryFolder(t), 'missing')
    const { origin } = await startDemo(t, { uploadDir: missing })
    const { response } = await curl(['-F', 'a=hello;filename=a.txt', origin + IN_MEMORY])
    assert.equal(response.status, 500)
    assert.match((JSON.parse(response.text) as { detail: string }).detail, /ENOENT/)
  })
})

describe('FormData of undici', () => {
  test('streams files and fields, repeated names included', async (t) => {
    const { origin, uploadDir } = await startDemo(t)
    const form = new FormData()
    form.append('title', 'Grüße "quoted"\r\nsecond line')
    form.append('file', new File([awkward], 'a "b" ü.bin', { type: 'application/x-awkward' }))
    form.append('file', new File([], 'empty.txt', { type: 'text/plain' }))
    const response = await fetch(origin + STREAMING, { method: 'POST', body: form })
    assert.equal(response.status, 200)
    const { title, files } = (await response.json()) as Uploaded
    assert.equal(title, 'Grüße "quoted"\r\nsecond line')
    assert.deepEqual(
      files.map(({ field, originalName, size, contentType }) => [field, originalName, size, contentType]),
      [
        ['file', 'a "b" ü.bin', awkward.length, 'application/x-awkward'],
        ['file', 'empty.txt', 0, 'text/plain'],
      ],
    )
    for (const { savedAs } of files) assert.equal(savedAs, basename(savedAs))
    assert.ok((await readFile(join(uploadDir, files[0]!.savedAs))).equals(awkward))
    assert.equal((await readFile(join(uploadDir, files[1]!.savedAs))).length, 0)
  })

  test('in memory, a small file is saved', async (t) => {
    const { origin, uploadDir } = await startDemo(t)
    const form = new FormData()
    form.append('file', new File(['hello'], 'hello.txt'))
    const response = await fetch(origin + IN_MEMORY, { method: 'POST', body: form })
    assert.equal(await response.text(), `Saved hello.txt (5 bytes) in ${uploadDir}.`)
    assert.equal(await readFile(join(uploadDir, 'hello.txt'), 'utf8'), 'hello')
  })

  test('more than 200 parts are refused, and the files before them are removed', async (t) => {
    const { origin, uploadDir } = await startDemo(t)
    const form = new FormData()
    form.append('file', new File(['hello'], 'hello.txt'))
    for (let i = 0; i < 200; i++) form.append('field', String(i))
    const response = await fetch(origin + STREAMING, { method: 'POST', body: form })
    assert.equal(response.status, 413)
    assert.equal(((await response.json()) as { limit: string }).limit, 'maxParts')
    assert.deepEqual(await readdir(uploadDir), [])
  })

  test('a client that leaves in the middle of a file leaves no file, not even the one before it', async (t) => {
    const over = gate()
    const { origin, uploadDir } = await startDemo(t, {}, (server) => {
      onHandled(server, '/api/user/upload', over.open)
    })
    const head = (name: string) => Buffer.from(`--B\r\nContent-Disposition: form-data; name="f"; filename="${name}"\r\n\r\n`)
    const abort = new AbortController()
    async function* body(): AsyncGenerator<Uint8Array> {
      yield Buffer.concat([head('whole.txt'), Buffer.from('whole\r\n'), head('half.txt'), Buffer.alloc(MIB)])
      const isOnDisk = (names: string[]) => names.includes('whole.txt') && names.some((name) => name.endsWith('.part'))
      while (!isOnDisk(await readdir(uploadDir))) await new Promise((resolve) => setImmediate(resolve))
      abort.abort()
      await new Promise(() => {})
    }
    const headers = { 'Content-Type': 'multipart/form-data; boundary=B' }
    const sending = fetch(origin + STREAMING, { method: 'POST', headers, body: body(), duplex: 'half', signal: abort.signal })
    await assert.rejects(sending, { name: 'AbortError' })
    await within(over.promise, 'the end of the handler')
    assert.deepEqual(await readdir(uploadDir), [])
  })
})
