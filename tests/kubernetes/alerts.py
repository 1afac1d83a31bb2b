"""Series for the tests of the rules: what each alert is for, and what it must not be raised by. One value a minute."""

from typing import Any

_POD = 'namespace="deid",pod="deid-server-1"'
_OTHER = 'namespace="deid",pod="deid-server-2"'
_V0 = f'{_POD},model="v0",version="1"'
_NOTES = f'{_POD},model="deidentify",version="1"'

#: Alert to the minute at which it is looked at, the series that raise it, and series that do not.
Alert = tuple[int, dict[str, str], list[dict[str, str]]]


def load(queue_us: int, compute_us: int, labels: str = _V0) -> dict[str, str]:
    """Return the series of a model whose requests wait and compute so many microseconds in each minute."""
    if 'model="deidentify"' in labels:
        return {
            f"nv_inference_queue_duration_us{{{labels}}}": f"0+{queue_us - queue_us // 4}x90",
            f"deid_server_waiting_seconds_total{{{_POD}}}": f"0+{queue_us // 4 / 1e6}x90",
            f'deid_server_stage_seconds_total{{{_POD},stage="models"}}': f"0+{compute_us / 1e6}x90",
            # Triton's own figures of this model are those of taking a request over, and do not count.
            f"nv_inference_compute_infer_duration_us{{{labels}}}": "0+600000x90",
        }
    return {
        f"nv_inference_queue_duration_us{{{labels}}}": f"0+{queue_us}x90",
        f"nv_inference_compute_input_duration_us{{{labels}}}": f"0+{compute_us // 10}x90",
        f"nv_inference_compute_infer_duration_us{{{labels}}}": f"0+{compute_us - 2 * (compute_us // 10)}x90",
        f"nv_inference_compute_output_duration_us{{{labels}}}": f"0+{compute_us // 10}x90",
    }


def requests(answered: int, failed: int = 0, reason: str = "OTHER") -> dict[str, str]:
    """Return the series of so many requests in each minute."""
    return {
        f"nv_inference_request_success{{{_V0}}}": f"0+{answered}x90",
        f'nv_inference_request_failure{{{_V0},reason="{reason}"}}': f"0+{failed}x90",
    }


_UP = 'up{job="deid/deid-server",' + _POD + "}"
_READY = f'kube_pod_status_ready{{{_POD},condition="true"}}'
_RUNNING = f'kube_pod_status_phase{{{_POD},phase="Running"}}'
_RESTARTS = f'kube_pod_container_status_restarts_total{{{_POD},container="server"}}'
_PENDING = f"nv_inference_pending_request_count{{{_V0}}}"
_SUCCESS = f"nv_inference_request_success{{{_V0}}}"
_DESIRED = (
    'kube_horizontalpodautoscaler_status_desired_replicas{namespace="deid",horizontalpodautoscaler="deid-server"}'
)
_MOST = 'kube_horizontalpodautoscaler_spec_max_replicas{namespace="deid",horizontalpodautoscaler="deid-server"}'
_CRON = 'namespace="deid",cronjob="deid-nightly"'
_LAST = f"kube_cronjob_status_last_successful_time{{{_CRON}}}"
_SUSPENDED = f"kube_cronjob_spec_suspend{{{_CRON}}}"

ALERTS: dict[str, Alert] = {
    "DeidNoServer": (5, {_UP: "0x10"}, [{_UP: "1x10"}]),
    "DeidPodNotReady": (
        15,
        {_READY: "0x20", _RUNNING: "1x20"},
        [{_READY: "1x20", _RUNNING: "1x20"}, {_READY: "0x20", _RUNNING: "0x20"}],
    ),
    "DeidPodRestarts": (60, {_RESTARTS: "0+0x20 1+1x60"}, [{_RESTARTS: "0x30 1x40"}]),
    "DeidServerOld": (
        2,
        {f"kube_pod_start_time{{{_POD}}}": "-2000000x5"},  # seconds; the clock of a test starts at 0
        [{f"kube_pod_start_time{{{_POD}}}": "-1000000x5"}],
    ),
    "DeidRequestsWait": (
        25,
        load(60_000_000, 6_000_000),
        # Twice as long as it computes; and ten times, of a model that has nearly nothing to do.
        [load(12_000_000, 6_000_000), load(600_000, 60_000)],
    ),
    "DeidServerStalled": (
        20,
        {_PENDING: "3x30", _SUCCESS: "70x30"},
        [{_PENDING: "3x30", _SUCCESS: "0+1x30"}, {_PENDING: "0x30", _SUCCESS: "70x30"}],
    ),
    "DeidRequestsFail": (20, requests(95, 5), [requests(1000, 5), requests(95, 5, "REJECTED")]),
    "DeidRequestsRefused": (20, requests(95, 5, "REJECTED"), [requests(95, 5)]),
    "DeidServersAtLimit": (40, {_DESIRED: "8x50", _MOST: "8x50"}, [{_DESIRED: "7x50", _MOST: "8x50"}]),
    "DeidJobFailed": (
        2,
        {'kube_job_failed{namespace="deid",job_name="deid-nightly-1",condition="true"}': "1x5"},
        [
            {'kube_job_failed{namespace="deid",job_name="deid-nightly-1",condition="true"}': "0x5"},
            {'kube_job_failed{namespace="deid",job_name="other",condition="true"}': "1x5"},
        ],
    ),
    "DeidJobLate": (
        2,
        {_LAST: "-200000x5", _SUSPENDED: "0x5"},
        [
            {_LAST: "-100000x5", _SUSPENDED: "0x5"},
            {_LAST: "-200000x5", _SUSPENDED: "1x5"},
            {f"kube_cronjob_created{{{_CRON}}}": "-100000x5", _SUSPENDED: "0x5"},  # new, and has never run
        ],
    ),
}

#: Cases of what is recorded: a query, and its result in minute 20, labels to value.
RECORDED: list[dict[str, Any]] = [
    {
        "name": "the ratio of one model",
        "series": load(12_000_000, 6_000_000),
        "expr": "deid:queue_to_compute:ratio_rate2m",
        "expected": {f"deid:queue_to_compute:ratio_rate2m{{{_POD}}}": 2},
    },
    {
        "name": "the busiest queue speaks for a pod, and each pod for itself",
        "series": {
            **load(18_000_000, 6_000_000),
            **load(0, 48_000_000, _NOTES),
            **load(3_000_000, 6_000_000, _V0.replace("deid-server-1", "deid-server-2")),
        },
        "expr": "deid:queue_to_compute:ratio_rate2m",
        "expected": {
            f"deid:queue_to_compute:ratio_rate2m{{{_POD}}}": 3,
            f"deid:queue_to_compute:ratio_rate2m{{{_OTHER}}}": 0.5,
        },
    },
    {
        "name": "the queue of the notes, part of it in the process of the model",
        "series": {**load(0, 6_000_000), **load(96_000_000, 24_000_000, _NOTES)},
        "expr": "deid:queue_to_compute:ratio_rate2m",
        "expected": {f"deid:queue_to_compute:ratio_rate2m{{{_POD}}}": 4},
    },
    {
        "name": "an idle pod has the ratio 0, and is not missing",
        "series": load(0, 0),
        "expr": "deid:queue_to_compute:ratio_rate2m",
        "expected": {f"deid:queue_to_compute:ratio_rate2m{{{_POD}}}": 0},
    },
    {
        "name": "the same load on hardware of a tenth of the speed has the same ratio",
        "series": load(120_000_000, 60_000_000),
        "expr": "deid:queue_to_compute:ratio_rate2m",
        "expected": {f"deid:queue_to_compute:ratio_rate2m{{{_POD}}}": 2},
    },
    {
        "name": "requests of all models wait",
        "series": {
            _PENDING: "5x30",
            _PENDING.replace("v0", "deidentify"): "7x30",
            f"deid_server_waiting_notes{{{_POD}}}": "3x30",
        },
        "expr": "deid:pending_requests:sum",
        "expected": {f"deid:pending_requests:sum{{{_POD}}}": 15},
    },
    {
        "name": "failed requests by reason",
        "series": requests(60, 30),
        "expr": "deid:requests_failed:rate5m",
        "expected": {f'deid:requests_failed:rate5m{{{_POD},reason="OTHER"}}': 0.5},
    },
]
