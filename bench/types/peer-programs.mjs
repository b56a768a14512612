// The programs of peers.mjs's comparison: the same routes in the notation of weir and of each peer, as its guide writes them for many routes.
//
// Every second route is a POST with a parameter in its path and a body, the others are GETs with a parameter in the path and one in the query.
// Each has a schema of its own for what it takes and returns, a handler, and one call by the typed client that reads the response. Peers
// whose guide divides many routes into parts get parts of 20 routes: a chain of 1,000 calls would be the fault of the program.
const PART = 20

const isPost = (i) => i % 2 === 0
const each = (first, end, write) => Array.from({ length: end - first }, (_, i) => write(first + i)).join('')

/** Writes each part with its routes, `start` and `end` being its first number and the number after its last. */
function parts(count, write) {
  let text = ''
  for (let start = 0; start < count; start += PART) text += write(start / PART, start, Math.min(start + PART, count))
  return text
}

const partOf = (i) => `part${Math.floor(i / PART)}`
const bodyOf = (i) => `{ name${i}: '', count: 1, tags: [], owner: { id: '' }, state: 'b' }`
const resultOf = (i, id, body) => (isPost(i) ? `{ ...${body}, count: ${id} }` : `{ ...${bodyOf(i)}, count: ${id} }`)

const zodModel = (i) =>
  `const Model${i} = z.object({ name${i}: z.string().max(${i + 10}), count: z.number().int().min(0), tags: z.array(z.string()), owner: z.object({ id: z.string(), email: z.email().optional() }), state: z.enum(['a${i}', 'b']) })\n`

function weir(count) {
  const model = (i) =>
    `const Model${i} = t.object({ name${i}: t.string.max(${i + 10}), count: t.int.min(0), tags: t.array(t.string), owner: t.object({ id: t.string, email: t.email.optional() }), state: t.enum('a${i}', 'b') })\n`
  const entry = (i) =>
    isPost(i)
      ? `  route${i}: post('/${partOf(i)}/route${i}/:id', { id: t.int, body: Model${i}, answers: { 200: Model${i} } }),\n`
      : `  route${i}: get('/${partOf(i)}/route${i}/:id', { id: t.int, page: t.int, answers: { 200: Model${i} } }),\n`
  const handler = (i) =>
    isPost(i)
      ? `  route${i}: ({ id, body }) => (${resultOf(i, 'id', 'body')}),\n`
      : `  route${i}: ({ id, page }) => (${resultOf(i, 'id + page')}),\n`
  const call = (i) =>
    `export async function call${i}() { const response = await api.route${i}({ id: 1, ${isPost(i) ? `body: ${bodyOf(i)}` : 'page: 1'} }); return response.body.owner.id.length }\n`
  return `import { HttpServer } from 'weirjs'
import { client, contract, get, post, t } from 'weirjs/client'
${each(0, count, model)}const routes = contract({
${each(0, count, entry)}})
new HttpServer().mapContract(routes, {
${each(0, count, handler)}})
const api = client(routes, '')
${each(0, count, call)}export { api, get, post, t }
`
}

function hono(count) {
  const id = `zValidator('param', z.object({ id: z.coerce.number().int() }))`
  const route = (i) =>
    isPost(i)
      ? `  .post('/route${i}/:id', ${id}, zValidator('json', Model${i}), (c) => { const { id } = c.req.valid('param'); const body = c.req.valid('json'); return c.json(${resultOf(i, 'id', 'body')}) })\n`
      : `  .get('/route${i}/:id', ${id}, zValidator('query', z.object({ page: z.coerce.number().int() })), (c) => { const { id } = c.req.valid('param'); const { page } = c.req.valid('query'); return c.json(${resultOf(i, 'id + page')}) })\n`
  const call = (i) =>
    `export async function call${i}() { const response = await api.${partOf(i)}.route${i}[':id'].${isPost(i) ? `$post({ param: { id: '1' }, json: ${bodyOf(i)} })` : `$get({ param: { id: '1' }, query: { page: '1' } })`}; const body = await response.json(); ${"if ('owner' in body) "}return body.owner.id.length }\n`
  return `import { zValidator } from '@hono/zod-validator'
import { Hono } from 'hono'
import { hc } from 'hono/client'
import { z } from 'zod'
${each(0, count, zodModel)}${parts(count, (n, start, end) => `const part${n} = new Hono()\n${each(start, end, route)}`)}const app = new Hono()
${parts(count, (n) => `  .route('/part${n}', part${n})\n`)}const api = hc<typeof app>('')
${each(0, count, call)}export { api, z, zValidator }
`
}

function elysia(count) {
  const model = (i) =>
    `const Model${i} = t.Object({ name${i}: t.String({ maxLength: ${i + 10} }), count: t.Integer({ minimum: 0 }), tags: t.Array(t.String()), owner: t.Object({ id: t.String(), email: t.Optional(t.String({ format: 'email' })) }), state: t.UnionEnum(['a${i}', 'b']) })\n`
  const route = (i) =>
    isPost(i)
      ? `  .post('/route${i}/:id', ({ params, body }) => (${resultOf(i, 'params.id', 'body')}), { params: t.Object({ id: t.Integer() }), body: Model${i}, response: { 200: Model${i} } })\n`
      : `  .get('/route${i}/:id', ({ params, query }) => (${resultOf(i, 'params.id + query.page').replace("state: 'b'", "state: 'b' as const")}), { params: t.Object({ id: t.Integer() }), query: t.Object({ page: t.Integer() }), response: { 200: Model${i} } })\n`
  const call = (i) =>
    `export async function call${i}() { const { data } = await api.${partOf(i)}.route${i}({ id: 1 }).${isPost(i) ? `post(${bodyOf(i)})` : 'get({ query: { page: 1 } })'}; return data?.owner.id.length }\n`
  return `import { treaty } from '@elysiajs/eden'
import { Elysia, t } from 'elysia'
${each(0, count, model)}${parts(count, (n, start, end) => `const part${n} = new Elysia({ prefix: '/part${n}' })\n${each(start, end, route)}`)}const app = new Elysia()
${parts(count, (n) => `  .use(part${n})\n`)}const api = treaty<typeof app>('')
${each(0, count, call)}export { api, t }
`
}

function trpc(count) {
  const route = (i) =>
    isPost(i)
      ? `  route${i}: procedure.input(z.object({ id: z.number().int(), body: Model${i} })).output(Model${i}).mutation(({ input }) => (${resultOf(i, 'input.id', 'input.body')})),\n`
      : `  route${i}: procedure.input(z.object({ id: z.number().int(), page: z.number().int() })).output(Model${i}).query(({ input }) => (${resultOf(i, 'input.id + input.page')})),\n`
  const call = (i) =>
    `export async function call${i}() { const body = await api.${partOf(i)}.route${i}.${isPost(i) ? `mutate({ id: 1, body: ${bodyOf(i)} })` : 'query({ id: 1, page: 1 })'}; return body.owner.id.length }\n`
  return `import { createTRPCClient, httpBatchLink } from '@trpc/client'
import { initTRPC } from '@trpc/server'
import { z } from 'zod'
const { router, procedure } = initTRPC.create()
${each(0, count, zodModel)}${parts(count, (n, start, end) => `const part${n} = router({\n${each(start, end, route)}})\n`)}const app = router({
${parts(count, (n) => `  part${n},\n`)}})
const api = createTRPCClient<typeof app>({ links: [httpBatchLink({ url: '' })] })
${each(0, count, call)}export { api, procedure, z }
`
}

function tsRest(count) {
  const id = 'pathParams: z.object({ id: z.coerce.number().int() })'
  const entry = (i) =>
    isPost(i)
      ? `  route${i}: { method: 'POST', path: '/${partOf(i)}/route${i}/:id', ${id}, body: Model${i}, responses: { 200: Model${i} } },\n`
      : `  route${i}: { method: 'GET', path: '/${partOf(i)}/route${i}/:id', ${id}, query: z.object({ page: z.coerce.number().int() }), responses: { 200: Model${i} } },\n`
  const handler = (i) =>
    isPost(i)
      ? `  route${i}: async ({ params, body }) => ({ status: 200, body: ${resultOf(i, 'params.id', 'body')} }),\n`
      : `  route${i}: async ({ params, query }) => ({ status: 200, body: ${resultOf(i, 'params.id + query.page')} }),\n`
  const call = (i) =>
    `export async function call${i}() { const response = await api.${partOf(i)}.route${i}({ params: { id: 1 }, ${isPost(i) ? `body: ${bodyOf(i)}` : 'query: { page: 1 }'} }); return response.status === 200 ? response.body.owner.id.length : 0 }\n`
  return `import { initClient, initContract } from '@ts-rest/core'
import { tsr } from '@ts-rest/serverless/fetch'
import { z } from 'zod'
const c = initContract()
${each(0, count, zodModel)}${parts(count, (n, start, end) => `const part${n} = c.router({\n${each(start, end, entry)}})\n`)}const routes = c.router({
${parts(count, (n) => `  part${n},\n`)}})
${parts(count, (n, start, end) => `const handlers${n} = tsr.router(part${n}, {\n${each(start, end, handler)}})\n`)}export const router = tsr.router(routes, {
${parts(count, (n) => `  part${n}: handlers${n},\n`)}})
const api = initClient(routes, { baseUrl: '' })
${each(0, count, call)}export { api, z }
`
}

/** By the name that the table shows. */
export const PROGRAMS = { weir, 'Hono with hc': hono, 'Elysia with Eden': elysia, tRPC: trpc, 'ts-rest': tsRest }
