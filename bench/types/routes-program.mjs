// Routes with parameters, bodies and answers, ten in each group, two levels deep. A fifth of them are controllers with two routes, one declared
// by a table and one by a decorator.
const GROUP = 10

const HEAD = `import { Controller, HttpServer, Route, cookie, file, header, json, multipart, routes, t } from 'weirjs'
const server = new HttpServer()
`

/** A program with that many routes, mapped inline or by controllers. */
export function routesProgram(count) {
  let text = HEAD
  for (let first = 0; first < count; first += GROUP) {
    text += `const outer${first} = server.group('/outer${first}/:org', { org: t.int, tenant: header('x-tenant', t.uuid) })\n`
    text += `const group${first} = outer${first}.group('/group/:team', { team: t.string, theme: cookie('theme', t.enum('dark', 'light').optional()) })\n`
    for (let i = first; i < Math.min(first + GROUP, count); i++) text += routeOf(i, `group${first}`)
  }
  return text
}

/** Bodies by a schema and in JSON, a form with a file, a GET, and controllers in both notations. */
function routeOf(i, group) {
  const model = `const Model${i} = t.object({ name${i}: t.string.max(${i + 10}), count: t.int.min(0).default(${i}), tags: t.array(t.string), owner: t.object({ id: t.uuid, email: t.email.optional() }), since: t.dateTime.optional(), state: t.enum('a${i}', 'b') })\n`
  const answers = `, answers: { 200: Model${i}, 404: t.object({ reason${i}: t.string }) }`
  const value = `{ ...body, name${i}: body.name${i} + org.toFixed() + team }`
  switch (i % 5) {
    case 0:
      return `${model}${group}.mapPost('/a${i}/:id', { id: t.int, page: t.int.default(1), body: Model${i}${answers} }, ({ id, page, org, team, body }) => { id.toFixed(); page.toFixed(); return ${value} })\n`
    case 1:
      return `${model}${group}.mapPut('/b${i}', { body: json(Model${i})${answers} }, async ({ org, team, body }) => (${value}))\n`
    case 2:
      return `${group}.mapPost('/c${i}', { body: multipart({ fields: { title${i}: t.string }, files: { photo: file({ maxBytes: ${i + 1} }) } }) }, ({ body }) => body.fields.title${i} + body.files.photo.contentType)\n`
    case 3:
      return `${group}.mapGet('/d${i}/:id', { id: t.uuid, since: t.dateTime.optional() }, ({ id, since, theme, tenant }) => [id, since?.getTime(), theme, tenant])\n`
    default:
      return `${model}class Table${i} extends Controller {
  static routes = routes(this, { prefix: '/e${i}', save: ['POST', '/:id', { id: t.int, body: Model${i} }] })
  save({ id, body }: { id: number; body: { name${i}: string; count: number } }) { return id + body.count }
}
class Decorated${i} extends Controller {
  @Route('PATCH', '/f${i}/:id', { id: t.int, body: Model${i} })
  save({ id, body }: { id: number; body: { name${i}: string; count: number } }) { return id + body.count }
}
${group}.mapController(Table${i}).mapController(Decorated${i})
`
  }
}
