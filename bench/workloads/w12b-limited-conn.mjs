import baseline from './w12a-baseline.mjs'

export default {
  ...baseline,
  id: 'w12b',
  name: 'Short connections',
  title: 'HttpArena limited-conn: the sums, but the client closes each connection after 10 requests and opens another',
  requestsPerConnection: 10,
}
