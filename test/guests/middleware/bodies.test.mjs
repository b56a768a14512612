// Middleware that reads request bodies.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { tmpdir } from 'node:os'
import { gzipSync } from 'node:zlib'

import bodyParser from 'body-parser'
import busboy from 'connect-busboy'
import express from 'express'
import fileUpload from 'express-fileupload'
import { body, matchedData, param, query, validationResult } from 'express-validator'
import formidable from 'formidable'
import hpp from 'hpp'
import methodOverride from 'method-override'
import multer from 'multer'
import multiparty from 'multiparty'

import { inPieces, multipart } from '../support/client.mjs'
import { guest } from '../support/guest.mjs'

const FILE = Buffer.alloc(300_000, 'weir guest ')
const HASH = sha(FILE)
const FORM = multipart([
  ['title', 'Über'],
  ['photo', FILE, 'photo.png', 'image/png'],
  ['tags', 'a'],
  ['tags', 'b'],
])

function sha(bytes) {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Shows an error of the middleware without its stack, which has the path of this machine. */
function showError(error, _request, response, _next) {
  response.status(error.status ?? error.httpCode ?? 500).json({ type: error.type ?? error.code, message: error.message })
}

guest('body-parser', {
  driven: 'JSON, forms, text, bytes, gzip, `Expect: 100-continue`, chunked; 400, 413, 415',
  app: () =>
    express()
      .use(
        bodyParser.json({ limit: '10kb' }),
        bodyParser.urlencoded({ extended: true }),
        bodyParser.text(),
        bodyParser.raw({ limit: '1mb' }),
      )
      .post('/', (request, response) => {
        const { body } = request
        response.json(Buffer.isBuffer(body) ? { bytes: sha(body) } : { body: body ?? null })
      })
      .use(showError),
  async drive({ post }) {
    assert.deepEqual((await post('/', { a: [1, 'ü'] })).json(), { body: { a: [1, 'ü'] } })
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    assert.deepEqual((await post('/', 'a[b]=1&a[c]=2&d=%C3%BC', { headers: form })).json(), { body: { a: { b: '1', c: '2' }, d: 'ü' } })
    assert.deepEqual((await post('/', 'héllo', { headers: { 'content-type': 'text/plain' } })).json(), { body: 'héllo' })
    const binary = { 'content-type': 'application/octet-stream' }
    assert.deepEqual((await post('/', FILE, { headers: binary })).json(), { bytes: HASH })
    assert.deepEqual((await post('/', inPieces(FILE), { headers: binary })).json(), { bytes: HASH })
    const zipped = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    assert.deepEqual((await post('/', gzipSync('{"zipped":true}'), { headers: zipped })).json(), { body: { zipped: true } })
    const expects = await post('/', inPieces(Buffer.from('{"e":1}')), {
      headers: { 'content-type': 'application/json', expect: '100-continue' },
    })
    assert.deepEqual([expects.json(), expects.informations.map(({ status }) => status)], [{ body: { e: 1 } }, [100]])
    assert.equal((await post('/', '{"a":', { headers: { 'content-type': 'application/json' } })).status, 400)
    assert.equal((await post('/', { long: 'x'.repeat(20_000) })).status, 413)
    assert.equal((await post('/', '{}', { headers: { 'content-type': 'application/json', 'content-encoding': 'rot13' } })).status, 415)
    assert.deepEqual((await post('/', '')).json(), { body: null })
    assert.deepEqual((await post('/', { after: 'all' })).json(), { body: { after: 'all' } })
  },
})

guest('multer', {
  driven: 'fields and a file of 300 kB, in memory and on disk, whole and in pieces; limits; a broken form',
  app: () => {
    const memory = multer({ limits: { fileSize: 500_000, files: 1 } })
    const disk = multer({ dest: tmpdir() })
    const show = (request, response) => {
      const { originalname, mimetype, size, buffer, path } = request.file
      response.json({ originalname, mimetype, size, hash: buffer && sha(buffer), stored: path !== undefined, body: request.body })
    }
    return express()
      .post('/memory', memory.single('photo'), show)
      .post('/disk', disk.single('photo'), show)
      .post('/small', multer({ limits: { fileSize: 1000 } }).any(), show)
      .use(showError)
  },
  async drive({ post }) {
    const { body, headers } = FORM
    const expected = { originalname: 'photo.png', mimetype: 'image/png', size: 300_000, body: { title: 'Über', tags: ['a', 'b'] } }
    assert.deepEqual((await post('/memory', body, { headers })).json(), { ...expected, hash: HASH, stored: false })
    assert.deepEqual((await post('/memory', inPieces(body, 777), { headers })).json(), { ...expected, hash: HASH, stored: false })
    assert.deepEqual((await post('/disk', body, { headers })).json(), { ...expected, stored: true })
    assert.equal((await post('/small', body, { headers })).json().type, 'LIMIT_FILE_SIZE')
    const unexpected = multipart([['other', 'x', 'x.txt']])
    assert.equal((await post('/memory', unexpected.body, unexpected)).json().type, 'LIMIT_UNEXPECTED_FILE')
    assert.match((await post('/memory', body.subarray(0, 1000), { headers })).json().message, /Unexpected end of form/)
  },
})

guest('formidable', {
  driven: 'a form with a file, whole and in pieces; a limit',
  app: () => async (request, response) => {
    const form = formidable({ hashAlgorithm: 'sha256', maxFileSize: request.url === '/small' ? 1000 : 1e6 })
    try {
      const [fields, files] = await form.parse(request)
      const [{ originalFilename, size, hash }] = files.photo
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ fields, originalFilename, size, hash }))
    } catch (error) {
      response.statusCode = error.httpCode ?? 400
      response.end(String(error.code))
    }
  },
  async drive({ post }) {
    const { body, headers } = FORM
    const expected = { fields: { title: ['Über'], tags: ['a', 'b'] }, originalFilename: 'photo.png', size: 300_000, hash: HASH }
    assert.deepEqual((await post('/', body, { headers })).json(), expected)
    assert.deepEqual((await post('/', inPieces(body), { headers })).json(), expected)
    assert.equal((await post('/small', body, { headers })).status, 413)
  },
})

guest('multiparty', {
  driven: 'parts as streams, a file on disk',
  app: () => (request, response) => {
    const form = new multiparty.Form()
    if (request.url === '/disk') {
      form.parse(request, (error, fields, files) => response.end(JSON.stringify(error ?? { fields, size: files.photo[0].size })))
      return
    }
    const seen = []
    form.on('part', (part) => {
      const hash = createHash('sha256')
      part.on('data', (piece) => hash.update(piece))
      part.on('end', () => seen.push([part.name, part.filename, hash.digest('hex')]))
    })
    form.on('error', (error) => {
      response.statusCode = error.statusCode ?? 400
      response.end(error.message)
    })
    form.on('close', () => response.end(JSON.stringify(seen)))
    form.parse(request)
  },
  async drive({ post }) {
    const { body, headers } = FORM
    assert.deepEqual((await post('/', inPieces(body), { headers })).json()[1], ['photo', 'photo.png', HASH])
    assert.deepEqual((await post('/disk', body, { headers })).json(), { fields: { title: ['Über'], tags: ['a', 'b'] }, size: 300_000 })
    assert.equal((await post('/', 'x', { headers: { 'content-type': 'text/plain' } })).status, 415)
  },
})

guest('connect-busboy', {
  driven: '`req.pipe(req.busboy)`, whole and in pieces',
  app: () =>
    express()
      .use(busboy({ limits: { fileSize: 1e6 } }))
      .post('/', (request, response) => {
        const seen = []
        request.busboy.on('field', (name, value) => seen.push([name, value]))
        request.busboy.on('file', (name, file, { filename, mimeType }) => {
          const hash = createHash('sha256')
          file.on('data', (piece) => hash.update(piece)).on('end', () => seen.push([name, filename, mimeType, hash.digest('hex')]))
        })
        request.busboy.on('close', () => response.json(seen))
        request.pipe(request.busboy)
      }),
  async drive({ post }) {
    const { body, headers } = FORM
    const expected = [
      ['title', 'Über'],
      ['photo', 'photo.png', 'image/png', HASH],
      ['tags', 'a'],
      ['tags', 'b'],
    ]
    const sorted = (seen) => seen.sort((a, b) => a[0].localeCompare(b[0]))
    assert.deepEqual(sorted((await post('/', body, { headers })).json()), sorted(expected))
    assert.deepEqual(sorted((await post('/', inPieces(body), { headers })).json()), sorted(expected))
  },
})

guest('express-fileupload', {
  driven: 'files in memory and in temporary files, a limit that aborts',
  app: () =>
    express()
      .use('/limited', fileUpload({ limits: { fileSize: 1000 }, abortOnLimit: true }))
      .use('/temporary', fileUpload({ useTempFiles: true, tempFileDir: tmpdir() }))
      .use('/memory', fileUpload())
      .post('/*all', ({ files, body }, response) => {
        const { name, size, md5, mimetype } = files.photo
        response.json({ name, size, md5, mimetype, body })
      }),
  async drive({ post }) {
    const { body, headers } = FORM
    const inMemory = (await post('/memory', body, { headers })).json()
    assert.deepEqual([inMemory.name, inMemory.size, inMemory.body.title], ['photo.png', 300_000, 'Über'])
    assert.deepEqual((await post('/temporary', inPieces(body), { headers })).json(), inMemory)
    const small = multipart([['photo', 'x'.repeat(2000), 'x.txt']])
    assert.equal((await post('/limited', small.body, { headers })).status, 413)
  },
})

guest('hpp', {
  driven: 'repeated parameters of the query and of a form',
  app: () => {
    const app = express().set('query parser', 'extended')
    // Express 5 has a getter for the query; hpp assigns to it.
    app.use((request, _response, next) => {
      Object.defineProperty(request, 'query', { value: request.query, writable: true })
      next()
    })
    app.use(express.urlencoded({ extended: true }), hpp({ whitelist: ['tags'] }))
    app.all('/', ({ query, queryPolluted, body, bodyPolluted }, response) => response.json({ query, queryPolluted, body, bodyPolluted }))
    return app
  },
  async drive({ get, post }) {
    assert.deepEqual((await get('/?a=1&a=2&tags=x&tags=y')).json(), {
      query: { a: '2', tags: ['x', 'y'] },
      queryPolluted: { a: ['1', '2'] },
    })
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    assert.deepEqual((await post('/', 'a=1&a=2', { headers })).json().body, { a: '2' })
  },
})

guest('express-validator', {
  driven: 'rules on a body, the query and a parameter: accepted, refused, sanitised',
  app: () =>
    express()
      .use(express.json())
      .post(
        '/users/:id',
        param('id').isInt().toInt(),
        query('page').optional().isInt(),
        body('mail').isEmail().normalizeEmail(),
        (request, response) => {
          const errors = validationResult(request)
          if (!errors.isEmpty()) return response.status(422).json(errors.array())
          response.json(matchedData(request))
        },
      ),
  async drive({ post }) {
    assert.deepEqual((await post('/users/7?page=2', { mail: 'Ada@Example.COM', more: 1 })).json(), {
      id: 7,
      page: '2',
      mail: 'ada@example.com',
    })
    const refused = await post('/users/x', { mail: 'no' })
    assert.deepEqual([refused.status, refused.json().map(({ path }) => path)], [422, ['id', 'mail']])
  },
})

guest('method-override', {
  driven: 'a field, a query parameter and a form value that change the method',
  app: () =>
    express()
      .use(methodOverride('X-HTTP-Method-Override'), methodOverride('_method'), express.urlencoded({ extended: false }))
      .use(methodOverride((request) => request.body?._method))
      .use(({ method, originalMethod }, response) => response.json({ method, originalMethod })),
  async drive({ get, post }) {
    assert.deepEqual((await post('/', '', { headers: { 'x-http-method-override': 'DELETE' } })).json(), {
      method: 'DELETE',
      originalMethod: 'POST',
    })
    assert.equal((await post('/?_method=PUT', '')).json().method, 'PUT')
    assert.equal(
      (await post('/', '_method=PATCH', { headers: { 'content-type': 'application/x-www-form-urlencoded' } })).json().method,
      'PATCH',
    )
    assert.equal((await get('/?_method=PUT')).json().method, 'GET')
  },
})
