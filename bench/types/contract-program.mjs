// A contract whose entries have parameters, bodies and answers, with one `mapContract`.
const HEAD = `import { HttpServer, Problem } from 'weirjs'
import { client, contract, file, get, header, json, multipart, post, put, t } from 'weirjs/client'
`

/** The declaration of an entry, its handler, and a call of it. A kind of its own for each of five. */
function entryOf(i) {
  const shape = `{ name${i}: t.string.max(${i + 10}), count: t.int.min(0).default(${i}), tags: t.array(t.string), owner: t.object({ id: t.uuid, email: t.email.optional() }), since: t.dateTime.optional(), state: t.enum('a${i}', 'b') }`
  const model = `const Model${i} = t.object(${shape})\n`
  const value = `{ name${i}: '', count: 1, tags: [], owner: { id: '' }, state: 'b' }`
  const answers = `answers: { 200: Model${i}, 404: Problem }`
  const read = `if (answer${i}.status === 200) answer${i}.body.owner.id.length`
  switch (i % 5) {
    case 0:
      return {
        model,
        entry: `post('/a${i}/:id', { id: t.int, page: t.int.default(1), body: Model${i}, ${answers} })`,
        handler: `({ id, page, body }) => { id.toFixed(); page.toFixed(); return { ...body, name${i}: body.name${i} } }`,
        call: `const answer${i} = await api.route${i}({ id: 1, body: ${value} }); ${read}`,
      }
    case 1:
      return {
        model,
        entry: `put('/b${i}', { body: json(Model${i}), ${answers} })`,
        handler: 'async ({ body }) => body',
        call: `const answer${i} = await api.route${i}({ body: ${value} }); ${read}`,
      }
    case 2:
      return {
        model: '',
        entry: `post('/c${i}', { body: multipart({ fields: { title${i}: t.string }, files: { photo: file({ maxBytes: ${i + 1} }) } }) })`,
        handler: `({ body }) => body.fields.title${i} + body.files.photo.contentType`,
        call: `const answer${i} = await api.route${i}({ body: { fields: { title${i}: '' }, files: { photo: new Blob([]) } } }); if (answer${i}.ok) answer${i}.headers.get('a')`,
      }
    case 3:
      return {
        model,
        entry: `get('/d${i}/:id', { id: t.uuid, since: t.dateTime.optional(), tenant: header('x-tenant', t.string), ${answers} })`,
        handler: `({ id, since, tenant }, { response }) => { since?.getTime(); return response.notFound(id + tenant) }`,
        call: `const answer${i} = await api.route${i}({ id: '', tenant: '' }); ${read}`,
      }
    default:
      return {
        model,
        entry: `get('/e${i}/:a/:b', { b: t.int, answers: { 200: t.array(Model${i}) } })`,
        handler: `({ a, b }) => { a.length; b.toFixed(); return [] }`,
        call: `const answer${i} = await api.route${i}({ a: '', b: 1 }); answer${i}.body[0]?.name${i}.length`,
      }
  }
}

/** A program with a contract of that many entries, a handler for each, and with `isCalled` a client that calls each. */
export function contractProgram(count, isCalled) {
  const entries = Array.from({ length: count }, (_, i) => entryOf(i))
  const lines = (part) => entries.map((one, i) => `  route${i}: ${one[part]},\n`).join('')
  const models = entries.map(({ model }) => model).join('')
  const calls = isCalled
    ? `const api = client(routes, '')\n${entries.map(({ call }, i) => `export async function call${i}() { ${call} }\n`).join('')}`
    : ''
  return `${HEAD}${models}const routes = contract({\n${lines('entry')}})\nnew HttpServer().mapContract(routes, {\n${lines('handler')}})\n${calls}export {}\n`
}
