import baseline from './w12a-baseline.mjs'

export default {
  ...baseline,
  id: 'w12b',
  title: 'HttpArena limited-conn: w12a, the client closes each connection after 10 requests and opens another',
  requestsPerConnection: 10,
}
