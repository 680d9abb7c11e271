"""Runs a function in several processes that make up one world, over pipes: what tests use where there is no MPI."""

import multiprocessing
import threading
import traceback


def _worker(index, count, ranks, pipes, function, args, answer):
    import headwater as hw

    def exchange(sent, sizes):
        threads = [threading.Thread(target=pipes[peer].send_bytes, args=(data,)) for peer, data in sent.items()]
        for t in threads:
            t.start()
        got = {peer: pipes[peer].recv_bytes() for peer in sizes}
        for t in threads:
            t.join()
        return got

    try:
        hw.set_num_threads(1)
        hw._C.join_world(index, count, ranks, exchange)
        answer.send((True, function(*args)))
    except BaseException:
        answer.send((False, traceback.format_exc()))


def run(count, function, *args, ranks=0, timeout=100):
    """What `function(*args)` returned in each process; an exception in one of them is raised here."""
    context = multiprocessing.get_context("spawn")
    pipes = [{} for _ in range(count)]
    for i in range(count):
        for j in range(i):
            pipes[i][j], pipes[j][i] = context.Pipe()
    answers = [context.Pipe(duplex=False) for _ in range(count)]
    workers = [context.Process(target=_worker, args=(i, count, ranks, pipes[i], function, args, answers[i][1])) for i in range(count)]
    for w in workers:
        w.start()
    try:
        results = []
        for reader, _ in answers:
            assert reader.poll(timeout), "a process did not answer"
            results.append(reader.recv())
        failed = [text for ok, text in results if not ok]
        assert not failed, "\n".join(failed)
        return [value for _, value in results]
    finally:
        for w in workers:
            w.join(5)
            if w.is_alive():
                w.kill()
