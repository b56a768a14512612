import { index, route } from '@react-router/dev/routes'

export default [
  index('routes/home.jsx'),
  route('other', 'routes/other.jsx'),
  route('slow', 'routes/slow.jsx'),
  route('api/hello', 'routes/hello.js'),
  route('*', 'routes/none.jsx'),
]
