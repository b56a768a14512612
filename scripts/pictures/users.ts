import { HttpServer, Problem, t } from 'weirjs'

const User = t.object({ id: t.int, name: t.string })
const answers = { 200: User, 404: Problem }

const server = new HttpServer()
server.get('/users/:id', { id: t.int, answers }, ({ id }) => {
  return { id, nick: 'ada' }
})
server.get('/greet/:id', { id: t.int }, ({ id }) => `Hello ${id.toUpperCase()}`)
