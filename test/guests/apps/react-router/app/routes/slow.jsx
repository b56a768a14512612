import { Suspense } from 'react'
import { Await } from 'react-router'

export function loader() {
  return { late: new Promise((resolve) => setTimeout(resolve, 500, 'It came late')) }
}

export default function Slow({ loaderData }) {
  return (
    <main>
      <h1>Slow</h1>
      <Suspense fallback={<p id="waiting">Waiting</p>}>
        <Await resolve={loaderData.late}>{(text) => <p id="late">{text}</p>}</Await>
      </Suspense>
    </main>
  )
}
